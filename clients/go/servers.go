// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const defaultPort = "7700"

// ---- servers ----

type server struct {
	text   string
	path   string // of a Unix socket; empty: host and port
	host   string
	port   string
	secure bool
}

func readServers(list string) ([]server, error) {
	if list == "" {
		list = os.Getenv("CONCLAVE_SERVER")
	}
	if list == "" {
		list = "127.0.0.1:" + defaultPort
	}
	var servers []server
	for _, word := range strings.FieldsFunc(list, func(c rune) bool { return strings.ContainsRune(", \t\n", c) }) {
		one, err := readServer(word)
		if err != nil {
			return nil, err
		}
		servers = append(servers, one)
	}
	if len(servers) == 0 {
		return nil, fail(ErrInvalid, "the list of servers is empty")
	}
	return servers, nil
}

func readServer(text string) (server, error) {
	place := strings.TrimPrefix(text, "tls://")
	secure := place != text
	if strings.Contains(place, "/") {
		if secure {
			return server{}, fail(ErrInvalid, text, ": tls:// expects host:port")
		}
		return server{text: text, path: place}, nil
	}
	host, port, err := net.SplitHostPort(place)
	if err != nil {
		host, port, err = net.SplitHostPort(place + ":" + defaultPort)
	}
	if number, wrong := strconv.Atoi(port); err != nil || wrong != nil || number < 0 || number > 65535 || host == "" {
		return server{}, fail(ErrInvalid, text, ": neither host:port nor the path of a socket")
	}
	return server{text: text, host: host, port: port, secure: secure}, nil
}

// ---- credentials ----

// credentials prove who this is: a key, or certificates. Without any, connections are in plain text.
type credentials struct {
	key    string
	config *tls.Config
}

func choose(given, variable string) string {
	if given != "" {
		return given
	}
	return os.Getenv(variable)
}

func readCredentials(options Options) (*credentials, error) {
	if key := choose(options.Key, "CONCLAVE_KEY"); key != "" {
		return &credentials{key: key}, checkPrivate(key)
	}
	ca := choose(options.TLSCA, "CONCLAVE_TLS_CA")
	certificate := choose(options.TLSCertificate, "CONCLAVE_TLS_CERTIFICATE")
	private := choose(options.TLSPrivateKey, "CONCLAVE_TLS_PRIVATE_KEY")
	if ca == "" && certificate == "" && private == "" {
		return nil, nil
	}
	if ca == "" || certificate == "" || private == "" {
		return nil, fail(ErrInvalid, "TLS by certificate expects TLSCA, TLSCertificate and TLSPrivateKey")
	}
	if err := checkPrivate(private); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(certificate, private)
	if err != nil {
		return nil, fail(ErrInvalid, certificate, ": ", err.Error())
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fail(ErrInvalid, err.Error())
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fail(ErrInvalid, ca, ": expected certificates")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: []tls.Certificate{pair}}
	if list := os.Getenv("CONCLAVE_TLS_CRL"); list != "" {
		if config.VerifyPeerCertificate, err = refuseRevoked(list); err != nil {
			return nil, err
		}
	}
	return &credentials{config: config}, nil
}

func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fail(ErrInvalid, err.Error())
	}
	if info.Mode()&0o77 != 0 {
		return fail(ErrInvalid, path, ": expected mode 0600: a key is for its owner alone")
	}
	return nil
}

// ---- a line to a server ----

// line is a connection's bytes, both ways.
type line interface {
	io.ReadWriteCloser
	CloseWrite() error // nothing more will come; what the other end says can still be read
}

func dial(ctx context.Context, to server, with *credentials) (line, error) {
	dialer := net.Dialer{KeepAlive: 4 * time.Second}
	switch {
	case to.path != "":
		connection, err := dialer.DialContext(ctx, "unix", to.path)
		if err != nil {
			return nil, err
		}
		return connection.(*net.UnixConn), nil
	case to.secure && with == nil:
		return nil, errors.New("expected a key or certificates")
	case with != nil && with.key != "":
		return dig(to, with.key)
	}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(to.host, to.port))
	if err != nil {
		return nil, err
	}
	if with == nil {
		return connection.(*net.TCPConn), nil
	}
	config := with.config.Clone()
	config.ServerName = to.host
	secured := tls.Client(connection, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		connection.Close()
		return nil, err
	}
	return secured, nil
}

// tunnel is a process that speaks TLS by key, which Go's library does not know.
type tunnel struct {
	io.WriteCloser
	io.ReadCloser
	process *exec.Cmd
}

func dig(to server, key string) (line, error) {
	process := exec.Command("conclave", "tunnel", "--server", to.text, "--key", key)
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return &tunnel{in, out, process}, nil
}

func (t *tunnel) CloseWrite() error { return t.WriteCloser.Close() }

func (t *tunnel) Close() error {
	t.process.Process.Kill()
	return t.process.Wait()
}
