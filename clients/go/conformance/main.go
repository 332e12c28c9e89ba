// SPDX-License-Identifier: MIT

// Does what the conformance suite says, a line of JSON each, by this client.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"conclave"
)

type step struct {
	ID       int
	Do       string
	Hold     string
	Watch    string
	Name     string
	Names    []string
	Count    int
	Options  settings
	Wait     *int
	TTL      *int
	Shared   bool
	Permits  int
	Priority uint32
	Value    string
}

type settings struct {
	Servers        string
	Timeout        int
	Key            string
	TLSCA          string `json:"tls_ca"`
	TLSCertificate string `json:"tls_certificate"`
	TLSPrivateKey  string `json:"tls_private_key"`
}

var (
	mutex  sync.Mutex
	client *conclave.Client
	holds  = map[string]*conclave.Hold{}
	waits  = map[string]context.CancelFunc{}
)

// monotonic is CLOCK_MONOTONIC in milliseconds, which all drivers tell their times by.
func monotonic() float64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return float64(now.Nano()) / 1e6
}

func tell(what map[string]any) {
	mutex.Lock()
	defer mutex.Unlock()
	what["at"] = monotonic()
	line, _ := json.Marshal(what)
	fmt.Printf("%s\n", line)
}

func options(s step) conclave.LockOptions {
	o := conclave.LockOptions{Shared: s.Shared, Permits: s.Permits, OnLost: func(*conclave.Hold) { tell(map[string]any{"event": "lost", "hold": s.Hold}) },
		OnPosition: func(place int64) {
			tell(map[string]any{"event": "position", "hold": s.Hold, "position": place})
		},
		OnAskedBack: func(_ *conclave.Hold, asker string) {
			tell(map[string]any{"event": "askback", "hold": s.Hold, "asker": asker})
		}}
	if s.Wait != nil {
		o.Wait, o.Try = time.Duration(*s.Wait)*time.Millisecond, *s.Wait == 0
	}
	if s.TTL != nil {
		o.TTL, o.NoTTL = time.Duration(*s.TTL)*time.Millisecond, *s.TTL == 0
	}
	return o
}

func describe(leader conclave.Leader) map[string]any {
	told := map[string]any{"leader": leader.ID, "fence": leader.Fence, "value": leader.Value}
	if leader.Value == "" {
		told["value"] = nil
	}
	return told
}

func acquire(s step) (hold *conclave.Hold, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	mutex.Lock()
	waits[s.Hold] = cancel
	mutex.Unlock()
	if s.Names != nil {
		hold, err = client.LockAll(ctx, s.Names, options(s))
	} else if s.Do == "campaign" {
		hold, err = client.Campaign(ctx, s.Name, conclave.Candidate{LockOptions: options(s), Priority: s.Priority, Value: s.Value})
	} else {
		hold, err = client.Lock(ctx, s.Name, options(s))
	}
	mutex.Lock()
	defer mutex.Unlock()
	holds[s.Hold] = hold
	return hold, err
}

func follow(s step) (map[string]any, error) {
	mutex.Lock()
	hold := holds[s.Hold]
	mutex.Unlock()
	switch s.Do {
	case "lock", "campaign", "lock_all":
		hold, err := acquire(s)
		if err != nil {
			return nil, err
		}
		return map[string]any{"fence": hold.Fence, "fences": hold.Fences}, nil
	case "sequence":
		first, err := client.Sequence(context.Background(), s.Name, s.Count)
		return map[string]any{"fence": first}, err
	case "held":
		return map[string]any{"held": hold.Context().Err() == nil}, nil
	case "release":
		return nil, hold.Release()
	case "cancel":
		mutex.Lock()
		defer mutex.Unlock()
		waits[s.Hold]()
	case "leader":
		leader, err := client.Leader(context.Background(), s.Name)
		return describe(leader), err
	case "observe", "watch":
		begin := client.Observe
		if s.Do == "watch" {
			begin = client.Watch
		}
		news, err := begin(context.Background(), s.Name)
		if err != nil {
			return nil, err
		}
		go func() {
			for leader := range news {
				told := describe(leader)
				told["event"], told["watch"] = "leader", s.Watch
				tell(told)
			}
		}()
	case "askback":
		count, err := client.Execute(context.Background(), "ASKBACK", s.Name)
		return map[string]any{"count": count}, err
	case "close":
		return nil, client.Close()
	}
	return nil, nil
}

func answer(s step) {
	result, err := follow(s)
	var told *conclave.Error
	switch {
	case err == nil && result == nil:
		tell(map[string]any{"id": s.ID, "ok": map[string]any{}})
	case err == nil:
		tell(map[string]any{"id": s.ID, "ok": result})
	case errors.As(err, &told):
		tell(map[string]any{"id": s.ID, "error": told.Kind.Error(), "why": err.Error()})
	default:
		tell(map[string]any{"id": s.ID, "error": "cancelled", "why": err.Error()})
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if s.Do != "open" {
			go answer(s)
			continue
		}
		var err error
		o := s.Options
		client, err = conclave.New(conclave.Options{Servers: o.Servers, Timeout: time.Duration(o.Timeout) * time.Millisecond,
			Key: o.Key, TLSCA: o.TLSCA, TLSCertificate: o.TLSCertificate, TLSPrivateKey: o.TLSPrivateKey})
		if err != nil {
			tell(map[string]any{"id": s.ID, "error": "invalid", "why": err.Error()})
		} else {
			tell(map[string]any{"id": s.ID, "ok": map[string]any{"cannot": []string{}}})
		}
	}
}
