// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// ---- waiting ----

// want is what is asked for, and how it is renewed and ended.
type want struct {
	LockOptions
	name    string // all of them, for people
	names   []string
	several bool
	words   []string
	kind    []string
	ending  string
}

func checkName(name string) error {
	good := len(name) >= 1 && len(name) <= nameBytes
	for i := 0; i < len(name); i++ {
		good = good && name[i] >= ' ' && name[i] != 127
	}
	if !good {
		return fail(ErrInvalid, "a name has 1 to 512 bytes and no control characters")
	}
	return nil
}

// What servers accept.
const (
	mostPermits = 1000000
	mostParties = 500
	mostNumbers = 4096
)

func checkCount(what string, count, most int) error {
	if count >= 1 && count <= most {
		return nil
	}
	return fail(ErrInvalid, what, " ", strconv.Itoa(count), ": expected 1 to ", strconv.Itoa(most))
}

func (w *want) check() error {
	w.name = strings.Join(w.names, ", ")
	for _, name := range w.names {
		if err := checkName(name); err != nil {
			return err
		}
	}
	if w.Wait < 0 || w.TTL < 0 {
		return fail(ErrInvalid, w.name, ": expected Wait and TTL of 0 or more")
	}
	if w.TTL > 0 && w.TTL < time.Millisecond { // servers count milliseconds
		return fail(ErrInvalid, w.name, ": TTL ", w.TTL.String(), ": expected a millisecond or more, or 0")
	}
	if w.Permits != 0 {
		if err := checkCount("Permits", w.Permits, mostPermits); err != nil {
			return err
		}
	}
	if w.TTL == 0 {
		w.TTL = ttlUsual
	}
	if w.NoTTL {
		w.TTL = 0
	}
	return nil
}

func milliseconds(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10)
}

// untilAfter is when a wait is over; never if neither is given.
func untilAfter(wait time.Duration, try bool) time.Duration {
	if try || wait > 0 {
		return clock() + wait
	}
	return never
}

// persist makes attempts until one has succeeded, with other servers if need be. An attempt that returns false and no error
// is made again.
func (c *Client) persist(ctx context.Context, until time.Duration, attempt func(*connection) (bool, error)) error {
	heard, failing := false, time.Duration(-1)
	tries := 0
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		asked := clock()
		connection, err := c.connect(ctx, c.timeout, never)
		reached := err == nil
		heard = heard || reached
		done := false
		if err == nil {
			done, err = attempt(connection)
		}
		if done || err != nil && !errors.Is(err, ErrNoServer) && !errors.Is(err, ErrNoQuorum) {
			return err
		}
		if err == nil {
			continue
		}
		if errors.Is(err, ErrNoServer) && !heard {
			return err // there was no server in the first place
		}
		now := clock()
		if failing < 0 || now-asked > time.Second {
			failing = now
		}
		if tries++; !reached { // it has tried them all
			tries = len(c.servers)
		}
		if late := until != never && now >= until; tries >= len(c.servers) && (late || now >= failing+patience) {
			return err
		}
		if reached {
			c.forsake(connection.server)
		}
		time.Sleep(pause)
	}
}

func (c *Client) acquire(ctx context.Context, w want) (hold *Hold, err error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	until := untilAfter(w.Wait, w.Try)
	err = c.persist(ctx, until, func(on *connection) (bool, error) {
		hold, err = c.acquireOnce(ctx, on, w, until)
		return hold != nil, err
	})
	return hold, err
}

// acquireOnce asks one server. Neither a hold nor an error: it was granted, but that may be over already.
func (c *Client) acquireOnce(ctx context.Context, on *connection, w want, until time.Duration) (*Hold, error) {
	words := append([]string{}, w.words...)
	if w.TTL > 0 {
		words = append(words, "TTL", milliseconds(w.TTL), "SECRET", c.secret)
	}
	last := []string{"DEADLINE"}
	if w.several {
		last = w.names
	}
	asked := clock()
	value, err := c.wait(ctx, on, until, waiting{words: words, last: last, pushed: w.pushed, undo: func(value any) {
		if fences, _, good := w.readGrant(value); good {
			c.giveBack(w, fences)
		}
	}})
	if err != nil {
		return nil, err
	}
	if value == nil {
		c.keep(on)
		return nil, fail(ErrTimeout, w.name, ": waited too long")
	}
	fences, left, good := w.readGrant(value)
	if !good {
		on.close(errBroken)
		return nil, fail(ErrRefused, "the server's answer is no fence")
	}
	hold := newHold(c, w, on, asked, fences, left)
	if hold.Held() || w.several && hold.renew() && hold.Held() { // of several names nobody has told how long they last
		return hold.begin(), nil
	}
	c.keep(on)
	go c.giveBack(w, fences)
	if until != never && clock() >= until {
		return nil, fail(ErrTimeout, w.name, ": waited too long")
	}
	return nil, nil
}

func (w *want) pushed(push []any) {
	if len(push) > 2 && push[0] == "position" && w.OnPosition != nil {
		place, _ := push[2].(int64)
		go w.OnPosition(place)
	}
}

// readGrant has the fences, and for how many milliseconds; of several names that is not told.
func (w *want) readGrant(value any) (fences []int64, left int64, good bool) {
	items, _ := value.([]any)
	for _, item := range items {
		number, is := item.(int64)
		if !is {
			return nil, 0, false
		}
		fences = append(fences, number)
	}
	if w.several {
		return fences, 0, len(fences) == len(w.names)
	}
	if len(fences) != 2 {
		return nil, 0, false
	}
	return fences[:1], fences[1], true
}

// waiting is a command that may wait.
type waiting struct {
	words  []string
	last   []string    // after WAIT
	pushed func([]any) // meanwhile
	undo   func(any)   // an answer that was on its way when the wait was given up
	lent   bool        // after an error the connection is not for others
	untold bool        // the server knows no WAIT, and this side ends it
}

// wait has the answer, without losing sight of the server. If it is given up, nothing is left behind.
func (c *Client) wait(ctx context.Context, on *connection, until time.Duration, w waiting) (any, error) {
	words := append([]string{}, w.words...)
	if until != never && !w.untold {
		words = append(words, "WAIT", milliseconds(until-clock()))
	}
	end := until
	if soonest := clock() + c.timeout; end < soonest {
		end = soonest
	} else if until != never && !w.untold {
		end += c.timeout
	}
	answer := on.ask(append(words, w.last...)...)
	for {
		step := probe
		late := end != never && end-clock() <= step
		if late {
			step = end - clock()
		}
		timer := time.NewTimer(step)
		select {
		case r := <-answer:
			timer.Stop()
			if r.err == errBroken {
				return nil, fail(ErrNoServer, on.server.text, ": the connection is broken")
			}
			if r.err != nil && !w.lent {
				c.keep(on)
			}
			return r.value, r.err
		case <-ctx.Done():
			timer.Stop()
			go withdraw(on, answer, w.undo)
			return nil, ctx.Err()
		case push := <-on.pushes:
			timer.Stop()
			if w.pushed != nil {
				w.pushed(push)
			}
			continue
		case <-timer.C:
		}
		// A server that lets a client wait may be right, or may hang. Does it still answer others?
		other, err := connect(ctx, on.server, c.with, c.name, c.timeout)
		if err == nil {
			other.close(errors.New("closed"))
		}
		if late || err != nil {
			go withdraw(on, answer, w.undo)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if late && err == nil && w.untold {
				return nil, fail(ErrTimeout, words[1], ": waited too long")
			}
			return nil, fail(ErrNoServer, on.server.text, ": no answer")
		}
	}
}

// withdraw gives back a grant that was on its way: it would block its name for as long as its time to live.
func withdraw(on *connection, answer <-chan reply, undo func(any)) {
	if value := on.lastWords(answer); value != nil && undo != nil {
		undo(value)
	}
}

func (c *Client) giveBack(w want, fences []int64) {
	for i, fence := range fences {
		if w.TTL > 0 {
			c.Execute(context.Background(), w.ending, w.names[i], strconv.FormatInt(fence, 10), "SECRET", c.secret)
		}
	}
}
