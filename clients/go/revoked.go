// SPDX-License-Identifier: MIT

package conclave

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"time"
)

// refuseRevoked checks servers' certificates by the lists in a file. As in the other clients of Conclave, every authority
// of a chain needs a list that is in date.
func refuseRevoked(path string) (func([][]byte, [][]*x509.Certificate) error, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, fail(ErrInvalid, err.Error())
	}
	var lists []*x509.RevocationList
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return nil, fail(ErrInvalid, path, ": ", err.Error())
		}
		lists = append(lists, list)
	}
	if len(lists) == 0 {
		return nil, fail(ErrInvalid, path, ": expected lists of revoked certificates")
	}
	return func(_ [][]byte, chains [][]*x509.Certificate) error {
		err := errors.New("no chain of certificates")
		for _, chain := range chains {
			if err = checkChain(chain, lists); err == nil {
				return nil
			}
		}
		return err
	}, nil
}

func checkChain(chain []*x509.Certificate, lists []*x509.RevocationList) error {
	for i := 0; i+1 < len(chain); i++ {
		found := false
		for _, list := range lists {
			if list.CheckSignatureFrom(chain[i+1]) != nil || time.Now().After(list.NextUpdate) {
				continue
			}
			found = true
			for _, revoked := range list.RevokedCertificates {
				if revoked.SerialNumber.Cmp(chain[i].SerialNumber) == 0 {
					return errors.New("the server's certificate is revoked")
				}
			}
		}
		if !found {
			return errors.New("an authority has no list of revoked certificates that is in date")
		}
	}
	return nil
}
