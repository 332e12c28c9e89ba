// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

// ---- numbers, queues ----

// integer asks a command about a name whose answer is a number.
func (c *Client) integer(ctx context.Context, ask func(context.Context, ...string) (any, error), words ...string) (int64, error) {
	if err := checkName(words[1]); err != nil {
		return 0, err
	}
	value, err := ask(ctx, words...)
	number, _ := value.(int64)
	return number, err
}

// Sequence is the first of so many numbers that nobody else gets, above all that were given for that name before.
// It waits while somebody holds the name as a lock.
func (c *Client) Sequence(ctx context.Context, name string, count int) (int64, error) {
	return c.SequenceWithin(ctx, name, count, WaitOptions{})
}

// SequenceWithin waits no longer than that, then ErrTimeout. A server has its time to answer in any case.
func (c *Client) SequenceWithin(ctx context.Context, name string, count int, options WaitOptions) (first int64, err error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	if err := checkCount("count", count, mostNumbers); err != nil {
		return 0, err
	}
	until := untilAfter(options.Wait, options.Try)
	words := []string{"SEQUENCE", name, strconv.Itoa(count)}
	err = c.persist(ctx, until, func(on *connection) (bool, error) {
		value, err := c.wait(ctx, on, until, waiting{words: words, untold: true})
		if err != nil {
			return false, err
		}
		c.keep(on)
		first, _ = value.(int64)
		return true, nil
	})
	return first, err
}

// AskBack asks the holders to give it back: how many were asked. They hear of it by OnAskedBack.
func (c *Client) AskBack(ctx context.Context, name string) (int64, error) {
	return c.integer(ctx, c.Execute, "ASKBACK", name)
}

// Waiter is a client that waits for a lock or a leadership.
type Waiter struct {
	Position int64
	Kind     string // lock, election; more or unanswered: there are others
	Client   string
	Node     int64
	Waited   time.Duration
}

// Waiters tells who waits for it, the next one first.
func (c *Client) Waiters(ctx context.Context, name string) ([]Waiter, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	value, err := c.Execute(ctx, "WAITERS", name)
	items, _ := value.([]any)
	waiters := []Waiter{}
	for _, item := range items {
		var w Waiter
		told, _ := item.(map[string]any)
		w.Position, _ = told["position"].(int64)
		w.Kind, _ = told["kind"].(string)
		w.Client, _ = told["client"].(string)
		w.Node, _ = told["node"].(int64)
		waited, _ := told["waited_ms"].(int64)
		w.Waited = time.Duration(waited) * time.Millisecond
		waiters = append(waiters, w)
	}
	return waiters, err
}

// ---- latches ----

// Latch opens, once and for all who wait, when it was counted down to 0. It outlasts clients and servers.
type Latch struct {
	Name   string
	client *Client
}

// Latch is a latch by its name, whether it was set or not.
func (c *Client) Latch(name string) *Latch { return &Latch{name, c} }

// Set is false if there is one already that is not open yet.
func (l *Latch) Set(ctx context.Context, count int) (bool, error) {
	if err := checkCount("count", count, mostPermits); err != nil {
		return false, err
	}
	set, err := l.client.integer(ctx, l.client.executeOnce, "LATCH", l.Name, "SET", strconv.Itoa(count))
	return set == 1, err
}

// Down tells what is left; 0: it is open. ErrRefused if none was set. ErrNoServer: it may have been counted or not.
func (l *Latch) Down(ctx context.Context, count int) (int64, error) {
	if err := checkCount("count", count, mostPermits); err != nil {
		return 0, err
	}
	return l.client.integer(ctx, l.client.executeOnce, "LATCH", l.Name, "DOWN", strconv.Itoa(count))
}

// Wait waits until it is open, or the context ends. ErrRefused if none was set, or if it was cleared.
func (l *Latch) Wait(ctx context.Context, options WaitOptions) error {
	if err := checkName(l.Name); err != nil {
		return err
	}
	until := untilAfter(options.Wait, options.Try)
	return l.client.persist(ctx, until, func(on *connection) (bool, error) {
		left, err := l.client.wait(ctx, on, until, waiting{words: []string{"LATCH", l.Name, "AWAIT"}})
		if err != nil {
			return false, err
		}
		l.client.keep(on)
		if left == nil {
			return false, fail(ErrTimeout, l.Name, ": waited too long")
		}
		return true, nil
	})
}

// Left tells what is left. False: there is no latch.
func (l *Latch) Left(ctx context.Context) (int64, bool, error) {
	if err := checkName(l.Name); err != nil {
		return 0, false, err
	}
	value, err := l.client.Execute(ctx, "LATCH", l.Name)
	left, is := value.(int64)
	return left, is, err
}

// Clear takes it away.
func (l *Latch) Clear(ctx context.Context) error {
	_, err := l.client.integer(ctx, l.client.Execute, "LATCH", l.Name, "CLEAR")
	return err
}

// ---- barriers ----

// WaitOptions say how long something is waited for: for as long as the context allows, unless they say something else.
type WaitOptions struct {
	Wait time.Duration // no longer, then ErrTimeout
	Try  bool          // not at all
}

// Barrier waits until so many have come: the meeting's number, the same for all and above the last one. ErrTimeout, or the
// context's end: they have not, and this one does not count any more. ErrLost: the connection broke, and the others may have met.
func (c *Client) Barrier(ctx context.Context, name string, parties int, options WaitOptions) (int64, error) {
	on, number, err := c.meet(ctx, name, parties, options)
	if err == nil {
		c.keep(on)
	}
	return number, err
}

// meet does not ask twice: the others may have met before the answer was lost.
func (c *Client) meet(ctx context.Context, name string, parties int, options WaitOptions, more ...string) (at *connection, number int64, err error) {
	if err := checkName(name); err != nil {
		return nil, 0, err
	}
	if err := checkCount("parties", parties, mostParties); err != nil {
		return nil, 0, err
	}
	until := untilAfter(options.Wait, options.Try)
	words := append([]string{"BARRIER", name, strconv.Itoa(parties)}, more...)
	err = c.persist(ctx, until, func(on *connection) (bool, error) {
		value, err := c.wait(ctx, on, until, waiting{words: words})
		if errors.Is(err, ErrNoServer) {
			return false, fail(ErrLost, name, ": ", err.Error(), "; the others may have met")
		}
		if err != nil {
			return false, err
		}
		if value == nil {
			c.keep(on)
			return false, fail(ErrTimeout, name, ": not all of them came")
		}
		at, number = on, value.(int64)
		return true, nil
	})
	return at, number, err
}

// Inside is a double barrier, after everybody has come and before everybody has gone.
type Inside struct {
	*stay
	Number int64
}

// EnterBarrier waits until so many have come. Leave is the other half.
func (c *Client) EnterBarrier(ctx context.Context, name string, parties int, options WaitOptions) (*Inside, error) {
	on, number, err := c.meet(ctx, name, parties, options, "ENTER")
	if err != nil {
		return nil, err
	}
	return &Inside{c.newStay(name, on), number}, nil
}

// Leave waits until all the others have left, too, or have gone. ErrTimeout: they have not, and it is still inside. If the
// context ends it is not: others take it for gone.
func (i *Inside) Leave(ctx context.Context, options WaitOptions) error {
	if err := i.Err(); err != nil {
		return err
	}
	i.setBusy(true)
	value, err := i.client.wait(ctx, i.on, untilAfter(options.Wait, options.Try),
		waiting{words: []string{"BARRIER", i.Name, "LEAVE"}, pushed: i.pushed, lent: true})
	i.setBusy(false)
	if errors.Is(err, ErrNoServer) {
		return fail(ErrLost, i.Name, ": ", err.Error(), "; it is not inside any more")
	}
	if err != nil {
		i.abandon()
		return err
	}
	if value == nil {
		return fail(ErrTimeout, i.Name, ": others are still inside")
	}
	on, err := i.end()
	if err == nil {
		i.client.keep(on)
	}
	return err
}

// ---- once in each period ----

// Once runs body if nobody has begun it in this period, counted from 1970; false: somebody has. It is done when body returns
// nil; otherwise whoever asks next does it. The body's context ends when it is lost: then others may do it, too.
func (c *Client) Once(ctx context.Context, name string, every time.Duration, body func(ctx context.Context, fence int64) error) (bool, error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	on, value, err := c.askAny(ctx, 1, "ONCE", name, "EVERY", milliseconds(every))
	if err != nil {
		return false, err
	}
	fence, is := value.(int64)
	if !is {
		c.keep(on)
		return false, nil
	}
	run := c.newStay(name, on)
	inside, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-run.done:
			cancel()
		case <-inside.Done():
		}
	}()
	if err := body(inside, fence); err != nil {
		run.abandon()
		return true, err
	}
	if _, err := run.end(); err != nil {
		return true, err
	}
	value, err = on.askWithin(c.timeout, "ONCE", name, "DONE", strconv.FormatInt(fence, 10))
	if done, _ := value.(int64); err != nil || done != 1 {
		on.close(errBroken)
		return true, fail(ErrLost, name, ", fence ", strconv.FormatInt(fence, 10), ": it was not remembered")
	}
	c.keep(on)
	return true, nil
}

// LastRun is what is known about something that is done once in each period.
type LastRun struct {
	Ended   time.Time // zero: never
	Fence   int64
	Client  string
	Running string // who does it now; empty: nobody
}

// LastRun tells when it was done last, and who does it now.
func (c *Client) LastRun(ctx context.Context, name string) (LastRun, error) {
	var last LastRun
	if err := checkName(name); err != nil {
		return last, err
	}
	value, err := c.Execute(ctx, "ONCE", name)
	items, _ := value.([]any)
	if len(items) < 4 {
		return last, err
	}
	if ended, is := items[0].(int64); is {
		last.Ended = time.UnixMilli(ended)
	}
	last.Fence, _ = items[1].(int64)
	last.Client, _ = items[2].(string)
	last.Running, _ = items[3].(string)
	return last, nil
}

// ---- what lasts as long as its connection ----

type leaver interface{ abandon() }

type stay struct {
	Name   string
	client *Client
	on     *connection
	done   chan struct{} // closed when it is lost, or over

	mutex sync.Mutex
	over  error
	busy  bool // a command waits: the server answers nothing else on that connection
}

func (s *stay) setBusy(busy bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.busy = busy
}

func (s *stay) ping() <-chan reply {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.busy {
		return nil
	}
	return s.on.ask("PING")
}

// pushed: a server may end what lasts on a connection, and say so.
func (s *stay) pushed(push []any) { closeIfLost(s.on, s.Name, push) }

func closeIfLost(on *connection, name string, push []any) {
	if len(push) > 1 && push[0] == "lost" && push[1] == name {
		on.close(errors.New("the server says so"))
	}
}

func (c *Client) newStay(name string, on *connection) *stay {
	s := &stay{Name: name, client: c, on: on, done: make(chan struct{})}
	c.mutex.Lock()
	c.stays[s] = true
	c.mutex.Unlock()
	go func() {
		c.whileAlive(name, on, s.done, s.ping)
		s.finish(fail(ErrLost, name, ": its connection ended"))
	}()
	return s
}

// whileAlive returns when the connection has ended, when its server hangs, or when that channel is closed.
func (c *Client) whileAlive(name string, on *connection, end <-chan struct{}, ping func() <-chan reply) {
	for {
		timer := time.NewTimer(lookAgain)
		select {
		case push := <-on.pushes:
			timer.Stop()
			closeIfLost(on, name, push)
			continue
		case <-on.gone:
			timer.Stop()
			return
		case <-end:
			timer.Stop()
			return
		case <-timer.C:
		}
		answer := ping()
		if answer == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
		if _, err := on.wait(ctx, answer); err != nil {
			on.close(err)
		}
		cancel()
	}
}

// finish is false if it was over already.
func (s *stay) finish(why error) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over != nil {
		return false
	}
	s.over = why
	close(s.done)
	go func() {
		s.client.mutex.Lock()
		delete(s.client.stays, s)
		s.client.mutex.Unlock()
	}()
	return true
}

// Err is nil while it lasts, and an ErrLost afterwards.
func (s *stay) Err() error {
	if s.on.closed() {
		s.finish(fail(ErrLost, s.Name, ": its connection ended"))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.over
}

// Done is closed when it is lost, or over.
func (s *stay) Done() <-chan struct{} { return s.done }

// end has the connection. From now on its end is no loss.
func (s *stay) end() (*connection, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	s.finish(fail(ErrLost, s.Name, ": it is over"))
	return s.on, nil
}

// abandon ends it without a word: others see that its connection has ended.
func (s *stay) abandon() {
	if s.finish(fail(ErrLost, s.Name, ": given up")) {
		s.on.close(errors.New("given up"))
	}
}
