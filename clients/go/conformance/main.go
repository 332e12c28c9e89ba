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
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"conclave"
)

type step struct {
	ID      int
	Do      string
	Hold    string
	Watch   string
	Name    string
	Names   []string
	Count   int
	Parties int
	Every   int64
	Options settings
	Wait    *int
	Within  int
	TTL     *int
	Shared  bool
	Permits int
	// Reentrant: from outside of every hold.
	Reentrant bool
	Priority  uint32
	Value     string
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
	inside = map[string]*conclave.Inside{}
	joined = map[string]*conclave.Membership{}
	runs   = map[string]*run{}
)

// run is a body of Once, which ends when the suite says so.
type run struct {
	ctx  context.Context
	end  chan error
	over chan error
}

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
	o := conclave.LockOptions{Shared: s.Shared, Permits: s.Permits, Reentrant: s.Reentrant, OnLost: func(*conclave.Hold) { tell(map[string]any{"event": "lost", "hold": s.Hold}) },
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

func waiting(s step) conclave.WaitOptions {
	o := options(s)
	return conclave.WaitOptions{Wait: o.Wait, Try: o.Try}
}

func describe(leader conclave.Leader) map[string]any {
	told := map[string]any{"leader": leader.ID, "fence": leader.Fence, "value": leader.Value}
	if leader.Value == "" {
		told["value"] = nil
	}
	return told
}

func describeMembers(members []conclave.Member) map[string]any {
	values := []string{}
	for _, member := range members {
		values = append(values, member.Value)
	}
	return map[string]any{"values": strings.Join(values, ","), "count": len(members)}
}

// cancellable has the context of a step, which another step may cancel.
func cancellable(s step) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	mutex.Lock()
	defer mutex.Unlock()
	waits[s.Hold] = cancel
	return ctx
}

// keep remembers what a step has got.
// keep forgets what had the label in an earlier script.
func keep[T any](in map[string]T, s step, what T) {
	mutex.Lock()
	defer mutex.Unlock()
	delete(holds, s.Hold)
	delete(inside, s.Hold)
	delete(joined, s.Hold)
	delete(runs, s.Hold)
	in[s.Hold] = what
}

func acquire(ctx context.Context, s step) (hold *conclave.Hold, err error) {
	switch s.Do {
	case "lock_all":
		hold, err = client.LockAll(ctx, s.Names, options(s))
	case "campaign":
		hold, err = client.Campaign(ctx, s.Name, conclave.Candidate{LockOptions: options(s), Priority: s.Priority, Value: s.Value})
	default:
		hold, err = client.Lock(ctx, s.Name, options(s))
	}
	if s.Do == "twice" && err == nil {
		hold, err = client.Lock(hold.Context(), s.Name, conclave.LockOptions{Try: true, Reentrant: true})
	}
	keep(holds, s, hold)
	return hold, err
}

func news[T any](s step, begin func(context.Context, string) (<-chan T, error), describe func(T) map[string]any) error {
	changes, err := begin(context.Background(), s.Name)
	if err != nil {
		return err
	}
	go func() {
		for change := range changes {
			told := describe(change)
			told["event"], told["watch"] = "news", s.Watch
			tell(told)
		}
	}()
	return nil
}

func once(ctx context.Context, s step) (map[string]any, error) {
	began, this := make(chan int64, 1), &run{end: make(chan error), over: make(chan error, 1)}
	ended := make(chan error, 1)
	go func() {
		ran, err := client.Once(ctx, s.Name, time.Duration(s.Every)*time.Millisecond, func(ctx context.Context, fence int64) error {
			this.ctx = ctx
			keep(runs, s, this)
			began <- fence
			go func() {
				<-ctx.Done()
				tell(map[string]any{"event": "lost", "hold": s.Hold})
			}()
			return <-this.end
		})
		if ran {
			this.over <- err
		} else {
			ended <- err
		}
	}()
	select {
	case fence := <-began:
		return map[string]any{"fence": fence}, nil
	case err := <-ended:
		return nil, err
	}
}

func follow(s step) (map[string]any, error) {
	ctx := context.Background()
	if s.Hold != "" && s.Do != "cancel" {
		ctx = cancellable(s)
	}
	mutex.Lock()
	hold, at, member, this := holds[s.Hold], inside[s.Hold], joined[s.Hold], runs[s.Hold]
	mutex.Unlock()
	latch := client.Latch(s.Name)
	number, err := int64(0), error(nil)
	switch s.Do {
	case "lock", "campaign", "lock_all", "twice":
		hold, err := acquire(ctx, s)
		if err != nil {
			return nil, err
		}
		return map[string]any{"fence": hold.Fence, "fences": hold.Fences}, nil
	case "held":
		if this != nil {
			return map[string]any{"held": this.ctx.Err() == nil}, nil
		}
		if at != nil {
			return map[string]any{"held": at.Err() == nil}, nil
		}
		return map[string]any{"held": hold.Context().Err() == nil}, nil
	case "release":
		return nil, hold.Release()
	case "upgrade":
		err = hold.Upgrade(ctx, waiting(s))
		return map[string]any{"fence": hold.Fence}, err
	case "downgrade":
		err = hold.Downgrade(ctx)
		return map[string]any{"fence": hold.Fence}, err
	case "cancel":
		mutex.Lock()
		defer mutex.Unlock()
		waits[s.Hold]()
		return nil, nil
	case "leader":
		leader, err := client.Leader(ctx, s.Name)
		return describe(leader), err
	case "observe":
		return nil, news(s, client.Observe, describe)
	case "watch":
		return nil, news(s, client.Watch, describe)
	case "watch_members":
		return nil, news(s, client.WatchMembers, describeMembers)
	case "members":
		members, err := client.Members(ctx, s.Name)
		return describeMembers(members), err
	case "waiters":
		waiters, err := client.Waiters(ctx, s.Name)
		return map[string]any{"count": len(waiters)}, err
	case "askback":
		count, err := client.AskBack(ctx, s.Name)
		return map[string]any{"count": count}, err
	case "sequence":
		within := conclave.WaitOptions{Wait: time.Duration(s.Within) * time.Millisecond}
		first, err := client.SequenceWithin(ctx, s.Name, s.Count, within)
		return map[string]any{"fence": first}, err
	case "barrier":
		number, err = client.Barrier(ctx, s.Name, s.Parties, waiting(s))
	case "enter":
		at, err := client.EnterBarrier(ctx, s.Name, s.Parties, waiting(s))
		if err != nil {
			return nil, err
		}
		keep(inside, s, at)
		go func() {
			<-at.Done()
			if strings.HasSuffix(at.Err().Error(), "its connection ended") {
				tell(map[string]any{"event": "lost", "hold": s.Hold})
			}
		}()
		return map[string]any{"number": at.Number}, nil
	case "leave":
		if member != nil {
			member.Leave()
			return nil, nil
		}
		return nil, at.Leave(ctx, waiting(s))
	case "join":
		member, err := client.Join(ctx, s.Name, conclave.Joining{Value: s.Value, OnChange: func(number int64) {
			tell(map[string]any{"event": "number", "hold": s.Hold, "number": number})
		}})
		if err != nil {
			return nil, err
		}
		keep(joined, s, member)
		number = member.Number()
	case "latch_set":
		var set bool
		if set, err = latch.Set(ctx, s.Count); set {
			number = 1
		}
	case "latch_down":
		number, err = latch.Down(ctx, s.Count)
	case "latch_wait":
		return nil, latch.Wait(ctx, waiting(s))
	case "latch_left":
		var there bool
		if number, there, err = latch.Left(ctx); !there {
			number = -1
		}
	case "latch_clear":
		return nil, latch.Clear(ctx)
	case "once":
		return once(context.Background(), s)
	case "finish", "give_up":
		if s.Do == "give_up" {
			this.end <- errors.New("given up")
			<-this.over
			return nil, nil
		}
		this.end <- nil
		return nil, <-this.over
	case "last_run":
		last, err := client.LastRun(ctx, s.Name)
		return map[string]any{"fence": last.Fence}, err
	case "close":
		return nil, client.Close()
	}
	return map[string]any{"number": number}, err
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
