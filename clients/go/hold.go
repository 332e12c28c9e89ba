// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Hold is a lock or a leadership that is held.
type Hold struct {
	Name  string
	Fence int64 // above those of all earlier holders, and below 2^53; Upgrade and Downgrade change it
	// Fences of several names, in their order.
	Fences []int64

	client     *Client
	want       want
	connection *connection // of the goroutine that renews, and then of Release
	done       chan struct{}
	ended      chan struct{} // the goroutine that renews has ended
	wake       chan struct{} // it is to look again

	mutex   sync.Mutex
	ends    time.Duration
	renewAt time.Duration
	alarm   *time.Timer
	over    error // ErrLost, or errReleased
	begun   bool
	again   int // how often it was taken again, and not given back
	// Upgrade and Downgrade have the connection for themselves; meanwhile this one renews.
	side *connection
}

var errReleased = errors.New("given back")

func newHold(client *Client, w want, on *connection, asked time.Duration, fences []int64, left int64) *Hold {
	h := &Hold{Name: w.name, Fence: fences[0], Fences: fences, client: client, want: w, connection: on,
		done: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	h.extend(asked, left)
	return h
}

func (h *Hold) begin() *Hold {
	h.client.mutex.Lock()
	h.client.holds[h] = true
	h.client.mutex.Unlock()
	h.mutex.Lock()
	h.begun = true
	h.setAlarm()
	h.mutex.Unlock()
	go h.renewOn()
	return h
}

// ---- what a holder asks ----

// Left tells for how long it is surely held, by this process's own clock; 0 if it is not.
func (h *Hold) Left() time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	left := h.ends - clock()
	if h.over == nil && left <= 0 && h.begun {
		h.lose("its time ran out")
	}
	if h.over != nil || left < 0 {
		return 0
	}
	return left
}

// Held asks the clock, so a process that was stopped learns it here, first.
func (h *Hold) Held() bool { return h.Left() > 0 }

// Err is nil while it is held, and an ErrLost afterwards.
func (h *Hold) Err() error {
	if h.Held() {
		return nil
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.over == errReleased {
		return fail(ErrLost, h.Name, ": given back")
	}
	return h.over
}

// Context ends when the hold does. Its Err asks the clock. With it, and with those that come from it, the lock can be taken
// again: see LockOptions.Reentrant.
func (h *Hold) Context() context.Context {
	return holdContext{context.WithValue(context.Background(), holdKey(h.Name), h), h}
}

// holdKey is the key of a hold in its context.
type holdKey string

// takeAgain is true if it is a lock that nobody shares, held by that client.
func (h *Hold) takeAgain(client *Client) bool {
	if h.client != client || h.want.several || len(h.want.kind) > 0 || !h.Held() {
		return false
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.again++
	return true
}

// holdContext has the values of a context and the end of a hold.
type holdContext struct {
	context.Context
	hold *Hold
}

func (c holdContext) Done() <-chan struct{} { return c.hold.done }
func (c holdContext) Err() error            { return c.hold.Err() }

// Release gives it back. ErrLost if it was lost before. If no server answers, it ends by itself when its time is over.
func (h *Hold) Release() error {
	held := h.Held()
	h.mutex.Lock()
	again := held && h.again > 0
	if again {
		h.again--
	}
	h.mutex.Unlock()
	if again {
		return nil
	}
	return h.releaseEntirely()
}

func (h *Hold) releaseEntirely() error {
	h.Left()
	h.mutex.Lock()
	before := h.over
	if before == nil {
		h.end(errReleased)
	}
	ends := h.ends
	h.mutex.Unlock()
	if before == errReleased {
		return nil
	}
	if before != nil {
		return before
	}
	<-h.ended
	var proof []string
	if h.want.TTL > 0 {
		proof = []string{"SECRET", h.client.secret}
	}
	for attempt := 0; attempt <= len(h.client.servers) && clock() < ends; attempt++ {
		if h.connection.closed() {
			if h.want.TTL == 0 {
				return nil // it has ended with its connection
			}
			connection, err := h.client.connect(context.Background(), h.client.timeout, ends)
			if err != nil {
				return nil
			}
			h.connection = connection
		}
		least, err := h.askAll(h.connection, h.client.timeout, h.want.ending, proof...)
		if err != nil {
			h.client.giveUp()
			h.connection.close(err)
			continue
		}
		h.client.keep(h.connection)
		if least == 0 && attempt == 0 {
			return fail(ErrLost, h.Name, ": it was not held any more")
		}
		return nil
	}
	return nil
}

// askAll has the least of the answers about each of its names; -2 if one of them is nil.
func (h *Hold) askAll(on *connection, patience time.Duration, verb string, more ...string) (int64, error) {
	least := int64(1<<63 - 1)
	var answers []<-chan reply
	for i, fence := range h.fences() {
		words := append([]string{verb, h.want.names[i], strconv.FormatInt(fence, 10)}, more...)
		answers = append(answers, on.ask(words...))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, answer := range answers {
		value, err := on.wait(ctx, answer)
		if err != nil {
			on.close(err)
			return 0, err
		}
		number, is := value.(int64)
		if !is {
			number = -2
		}
		if number < least {
			least = number
		}
	}
	return least, nil
}

func (h *Hold) fences() []int64 {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.Fences
}

// ---- from shared to alone, and back ----

// Upgrade waits until all others that share it have left: from then on it is held alone, by a new Fence. ErrTimeout: it is
// shared as before. ErrRefused: another one waits for that already, or it was renewed by another server meanwhile.
func (h *Hold) Upgrade(ctx context.Context, options WaitOptions) error {
	return h.exchange(ctx, "UPGRADE", untilAfter(options.Wait, options.Try), true)
}

// Downgrade shares it from now on, by a new Fence, without a moment in which nobody holds it.
func (h *Hold) Downgrade(ctx context.Context) error {
	return h.exchange(ctx, "DOWNGRADE", never, false)
}

func (h *Hold) exchange(ctx context.Context, verb string, until time.Duration, shared bool) error {
	if err := h.Err(); err != nil {
		return err
	}
	side, err := h.client.connect(ctx, h.client.timeout, never)
	if err != nil {
		return err
	}
	h.mutex.Lock()
	w, on := &h.want, h.connection
	good := !w.several && w.ending == "UNLOCK" && w.TTL > 0 && w.Permits == 0 && h.again == 0 && h.side == nil
	if good = good && (len(w.kind) == 1) == shared; good {
		h.side = side
	}
	h.mutex.Unlock()
	if !good {
		h.client.keep(side)
		return fail(ErrInvalid, h.Name, ": ", verb, " expects a lock of the other kind, with a time to live, taken once")
	}
	value, err := h.client.wait(ctx, on, until, waiting{words: []string{verb, h.Name, strconv.FormatInt(h.Fence, 10)},
		pushed: h.pushed, lent: true})
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.client.keep(h.side)
	h.side = nil
	if fence, is := value.(int64); is {
		h.Fence, h.Fences, w.kind = fence, []int64{fence}, nil
		if !shared {
			w.kind = []string{"SHARED"}
		}
	} else if err == nil {
		err = fail(ErrTimeout, h.Name, ": others still share it")
	}
	h.renewAt = 0 // how long it lasts now is not told
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return err
}

// ---- its end: with the mutex ----

func (h *Hold) end(how error) {
	h.over = how
	if h.alarm != nil {
		h.alarm.Stop()
	}
	close(h.done)
	go func() {
		h.client.mutex.Lock()
		delete(h.client.holds, h)
		h.client.mutex.Unlock()
	}()
}

func (h *Hold) lose(why string) {
	if h.over != nil {
		return
	}
	h.end(fail(ErrLost, h.Name, ", fence ", strconv.FormatInt(h.Fence, 10), ": ", why))
	if h.want.OnLost != nil && h.begun {
		go h.want.OnLost(h)
	}
}

func (h *Hold) loseLocked(why string) {
	h.mutex.Lock()
	h.lose(why)
	h.mutex.Unlock()
}

// ---- its renewal ----

// extend: so many milliseconds from then on. It ends a tenth earlier here, so that there is time to stop.
func (h *Hold) extend(asked time.Duration, left int64) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if left < 0 {
		h.ends, h.renewAt = never, never
		return
	}
	length := time.Duration(left) * time.Millisecond
	term := h.want.TTL
	if term == 0 {
		term = length
	}
	h.ends, h.renewAt = asked+length-term/10, asked+length-term*2/3
	if h.alarm != nil {
		h.setAlarm()
	}
}

func (h *Hold) setAlarm() {
	if h.alarm != nil {
		h.alarm.Stop()
	}
	if h.ends != never {
		h.alarm = time.AfterFunc(h.ends-clock(), func() {
			if h.Held() { // it was renewed at this moment, or the timer is early
				h.mutex.Lock()
				defer h.mutex.Unlock()
				if h.over == nil {
					h.setAlarm()
				}
			}
		})
	}
}

func (h *Hold) renewOn() {
	defer close(h.ended)
	for h.listen() {
		if !h.renew() {
			select {
			case <-h.done:
			case <-time.After(pause):
			}
		}
	}
	h.mutex.Lock()
	lost := h.over != errReleased
	h.mutex.Unlock()
	if lost { // what is lost here may not be over there yet, and the next one waits for it
		if h.want.TTL > 0 && !h.connection.closed() {
			h.askAll(h.connection, h.client.timeout, h.want.ending, "SECRET", h.client.secret)
		}
		h.connection.close(errors.New("lost"))
	}
}

// listen waits until something is to be asked. False: the hold has ended.
func (h *Hold) listen() bool {
	for {
		h.mutex.Lock()
		due, over := h.renewAt-clock(), h.over
		endless := h.renewAt == never
		h.mutex.Unlock()
		if over != nil {
			return false
		}
		if due <= 0 {
			return true
		}
		timer := time.NewTimer(due)
		if endless {
			timer.Stop()
		}
		select {
		case <-h.done:
		case <-h.wake:
		case push := <-h.connection.pushes:
			h.pushed(push)
		case <-h.connection.gone:
			timer.Stop()
			if h.want.TTL == 0 {
				h.loseLocked("its connection ended")
				return false
			}
			return true
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (h *Hold) pushed(push []any) {
	mine := false
	for i, fence := range h.fences() {
		mine = mine || len(push) > 2 && push[1] == h.want.names[i] && push[2] == fence
	}
	if !mine {
		return
	}
	switch push[0] {
	case "lost":
		why := "the server says so"
		if len(push) > 3 {
			why = fmt.Sprint(push[3])
		}
		h.loseLocked(why)
	case "askback":
		if h.want.OnAskedBack != nil && len(push) > 3 {
			asker, _ := push[3].(string)
			go h.want.OnAskedBack(h, asker)
		}
	}
}

// renew is true if a server answered.
func (h *Hold) renew() bool {
	h.mutex.Lock()
	var words []string
	limit := h.client.timeout
	if h.want.TTL > 0 {
		words = append([]string{"SECRET", h.client.secret, "TTL", milliseconds(h.want.TTL)}, h.want.kind...)
		if eighth := h.want.TTL / 8; eighth < limit {
			limit = eighth
		}
	}
	ends, fence, on := h.ends, h.Fences[0], h.connection
	if h.side != nil {
		on = h.side
	}
	h.mutex.Unlock()
	if on.closed() {
		connection, err := h.client.connect(holdContext{context.Background(), h}, limit, ends)
		if err != nil {
			return false
		}
		if !h.replace(connection) {
			h.client.keep(connection)
			return true
		}
		on = connection
	}
	asked := clock()
	left, err := h.askAll(on, limit, "RENEW", words...)
	if err != nil { // the server may recover until it is asked again, or another one may answer
		if h.want.TTL > 0 {
			h.client.giveUp()
			on.close(err)
		}
		return false
	}
	if left >= -1 {
		h.extend(asked, left)
		return true
	}
	h.mutex.Lock()
	before := h.side != nil || h.Fences[0] != fence
	h.mutex.Unlock()
	if before { // that was the fence before
		return false
	}
	h.loseLocked("the servers have given it to nobody, or to somebody else")
	return true
}

// replace is by a connection that works. False: there is one.
func (h *Hold) replace(connection *connection) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	switch {
	case h.side != nil:
		h.side = connection
	case h.connection.closed():
		h.connection = connection
	default:
		return false
	}
	return true
}
