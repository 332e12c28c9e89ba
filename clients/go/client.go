// SPDX-License-Identifier: MIT

// Package conclave has locks and leadership among processes, from a Conclave group.
//
//	client, err := conclave.New(conclave.Options{})
//	lock, err := client.Lock(ctx, "backup", conclave.LockOptions{})
//	defer lock.Release()
//	work(lock.Context(), lock.Fence) // the context ends as soon as the lock is lost
//
// A hold has a connection of its own. A goroutine renews it after a third of its time to live, with another server if need
// be, and the hold is over, for this process, a tenth of that time before the servers may give it to somebody else.
package conclave

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	pause     = 50 * time.Millisecond // before another server is tried
	patience  = 5 * time.Second       // so long other servers are tried when none answers during a wait
	probe     = 3 * time.Second       // during a wait, a second connection tests so often whether the server hangs
	mostIdle  = 8                     // connections kept for what comes next
	never     = time.Duration(1<<63 - 1)
	ttlUsual  = 10 * time.Second
	nameBytes = 512
)

// Options of a client. Servers and files default to the environment: CONCLAVE_SERVER, CONCLAVE_KEY, CONCLAVE_TLS_CA,
// CONCLAVE_TLS_CERTIFICATE, CONCLAVE_TLS_PRIVATE_KEY.
type Options struct {
	Servers        string        // host:port, [address]:port and paths of sockets, separated by commas or spaces
	Timeout        time.Duration // how long a server may take to answer; 2 s
	Name           string        // what others see of this client; host:pid by default
	Key            string        // a file that conclave keygen made
	TLSCA          string        // PEM files
	TLSCertificate string
	TLSPrivateKey  string
}

// Client asks the servers of a list. Goroutines may share it.
type Client struct {
	servers []server
	with    *credentials
	timeout time.Duration
	name    string
	secret  string // of what it holds: with it other servers renew and end that, too

	mutex  sync.Mutex
	turn   int
	idle   []*connection
	holds  map[*Hold]bool
	closed bool
	end    context.Context // of observations
	stop   context.CancelFunc
}

// New makes a client. It connects when it is asked for something.
func New(options Options) (*Client, error) {
	servers, err := readServers(options.Servers)
	if err != nil {
		return nil, err
	}
	with, err := readCredentials(options)
	if err != nil {
		return nil, err
	}
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, err
	}
	c := &Client{servers: servers, with: with, timeout: options.Timeout, name: options.Name,
		secret: hex.EncodeToString(secret[:]), holds: map[*Hold]bool{}}
	if c.timeout <= 0 {
		c.timeout = 2 * time.Second
	}
	if c.name == "" {
		host, _ := os.Hostname()
		c.name = host + ":" + strconv.Itoa(os.Getpid())
	}
	c.end, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Close gives back all that it holds.
func (c *Client) Close() error {
	c.stop()
	c.mutex.Lock()
	holds := []*Hold{}
	for hold := range c.holds {
		holds = append(holds, hold)
	}
	c.mutex.Unlock()
	var all sync.WaitGroup
	for _, hold := range holds {
		all.Add(1)
		go func(hold *Hold) {
			hold.Release()
			all.Done()
		}(hold)
	}
	all.Wait()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.closed = true
	for _, connection := range c.idle {
		connection.close(errors.New("closed"))
	}
	c.idle = nil
	return nil
}

// ---- locks and leadership ----

// LockOptions say how a lock is asked for.
type LockOptions struct {
	Wait   time.Duration // wait no longer, then ErrTimeout; 0: for as long as the context allows
	Try    bool          // do not wait at all
	TTL    time.Duration // the servers promise it for that long, and it is renewed in the background; 0: 10 s
	NoTTL  bool          // it ends with its connection
	Shared bool          // together with others that share
	// Permits, if above 0: one of up to so many that hold it together.
	Permits int
	OnLost  func(*Hold) // as soon as it is lost
	// OnPosition is called with its place in the queue, whenever that has changed.
	OnPosition func(int64)
	// OnAskedBack is called when somebody else asks for it, with their name.
	OnAskedBack func(*Hold, string)
}

// Lock waits for it. To give up waiting, cancel the context; that has no effect on the lock once it is held.
func (c *Client) Lock(ctx context.Context, name string, options LockOptions) (*Hold, error) {
	w := want{LockOptions: options, words: []string{"LOCK", name}, names: []string{name}, ending: "UNLOCK"}
	if options.Shared {
		w.kind = []string{"SHARED"}
	}
	if options.Permits > 0 {
		w.kind = []string{"PERMITS", strconv.Itoa(options.Permits)}
	}
	w.words = append(w.words, w.kind...)
	return c.acquire(ctx, w)
}

// LockAll waits for all of these names, or gets none of them, without deadlock. Fences has their fences in that order. If
// one of them is lost, all are. Shared, Permits and NoTTL are not for several names.
func (c *Client) LockAll(ctx context.Context, names []string, options LockOptions) (*Hold, error) {
	if len(names) == 0 || options.Shared || options.Permits > 0 || options.NoTTL {
		return nil, fail(ErrInvalid, "several names at once expect a name, and neither Shared, Permits nor NoTTL")
	}
	return c.acquire(ctx, want{LockOptions: options, words: []string{"LOCKALL"}, names: names, several: true, ending: "UNLOCK"})
}

// Sequence is the first of so many numbers that nobody else gets, above all that were given for that name before.
func (c *Client) Sequence(ctx context.Context, name string, count int) (int64, error) {
	w := want{names: []string{name}}
	if err := w.check(); err != nil {
		return 0, err
	}
	value, err := c.Execute(ctx, "SEQUENCE", name, strconv.Itoa(count))
	first, _ := value.(int64)
	return first, err
}

// Candidate says how leadership is asked for.
type Candidate struct {
	LockOptions        // but Shared and Permits
	Priority    uint32 // the highest of the candidates is preferred
	Value       string // what all members tell about this leader, an address for example
}

// Campaign waits until this client leads.
func (c *Client) Campaign(ctx context.Context, name string, candidate Candidate) (*Hold, error) {
	w := want{LockOptions: candidate.LockOptions, words: []string{"CAMPAIGN", name}, names: []string{name}, ending: "RESIGN",
		kind: []string{"LEADER"}}
	if candidate.Priority > 0 {
		w.words = append(w.words, "PRIORITY", strconv.FormatUint(uint64(candidate.Priority), 10))
	}
	if candidate.Value != "" {
		w.words = append(w.words, "VALUE", candidate.Value)
		w.kind = append(w.kind, "VALUE", candidate.Value)
	}
	return c.acquire(ctx, w)
}

// Execute asks any command that does not wait. A reply is a string, an int64, a []any, a map[string]any, or nil.
func (c *Client) Execute(ctx context.Context, words ...string) (any, error) {
	var failure error
	for attempt := 0; attempt <= len(c.servers); attempt++ {
		connection, err := c.connect(ctx, c.timeout, never)
		if err != nil {
			return nil, err
		}
		value, err := connection.askWithin(c.timeout, words...)
		c.keep(connection)
		if err != errBroken {
			return value, err
		}
		failure = fail(ErrNoServer, connection.server.text, ": no answer")
		c.giveUp()
	}
	return nil, failure
}

// ---- connections ----

// giveUp: the next question goes to another server.
func (c *Client) giveUp() {
	c.mutex.Lock()
	c.turn++
	c.mutex.Unlock()
}

// connect tries each server once, but no more when `until` is over.
func (c *Client) connect(ctx context.Context, patience, until time.Duration) (*connection, error) {
	c.mutex.Lock()
	for len(c.idle) > 0 {
		last := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		if last.idle() {
			c.mutex.Unlock()
			return last, nil
		}
	}
	closed := c.closed
	c.mutex.Unlock()
	if closed {
		return nil, fail(ErrInvalid, "the client is closed")
	}
	var failure error
	for range c.servers {
		c.mutex.Lock()
		to := c.servers[c.turn%len(c.servers)]
		c.mutex.Unlock()
		found, err := connect(ctx, to, c.with, c.name, patience)
		if err == nil {
			return found, nil
		}
		failure = err
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.giveUp()
		if clock() >= until {
			break
		}
	}
	return nil, failure
}

// keep has a connection for what comes next, if it is good for anything.
func (c *Client) keep(used *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for len(used.pushes) > 0 {
		<-used.pushes
	}
	if used.idle() && len(c.idle) < mostIdle && !c.closed {
		c.idle = append(c.idle, used)
	} else {
		used.close(errors.New("closed"))
	}
}

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

func (w *want) check() error {
	w.name = strings.Join(w.names, ", ")
	for _, name := range w.names {
		good := len(name) >= 1 && len(name) <= nameBytes
		for i := 0; i < len(name); i++ {
			good = good && name[i] >= ' ' && name[i] != 127
		}
		if !good {
			return fail(ErrInvalid, "a name has 1 to 512 bytes and no control characters")
		}
	}
	if w.Wait < 0 || w.TTL < 0 {
		return fail(ErrInvalid, w.name, ": expected Wait and TTL of 0 or more")
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

func (c *Client) acquire(ctx context.Context, w want) (*Hold, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	until, heard, failing := never, false, time.Duration(-1)
	if w.Try || w.Wait > 0 {
		until = clock() + w.Wait
	}
	for tries := 1; ; tries++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		asked := clock()
		hold, connected, err := c.acquireOnce(ctx, w, until)
		heard = heard || connected
		if hold != nil || err != nil && !errors.Is(err, ErrNoServer) && !errors.Is(err, ErrNoQuorum) {
			return hold, err
		}
		now := clock()
		if err == nil && now >= until {
			return nil, fail(ErrTimeout, w.name, ": waited too long")
		}
		if errors.Is(err, ErrNoServer) && !heard {
			return nil, err // there was no server in the first place
		}
		if err == nil {
			continue
		}
		if failing < 0 || now-asked > time.Second {
			failing = now
		}
		late := until != never && now >= until && (tries >= len(c.servers) || now >= until+c.timeout)
		if late || now >= failing+patience {
			return nil, err
		}
		c.giveUp()
		time.Sleep(pause)
	}
}

// acquireOnce asks one server. Neither a hold nor an error: it was granted, but that may be over already.
func (c *Client) acquireOnce(ctx context.Context, w want, until time.Duration) (*Hold, bool, error) {
	connection, err := c.connect(ctx, c.timeout, until)
	if err != nil {
		return nil, false, err
	}
	asked := clock()
	value, err := c.wait(ctx, connection, w, asked, until)
	if err != nil {
		return nil, true, err
	}
	if value == nil {
		c.keep(connection)
		return nil, true, fail(ErrTimeout, w.name, ": waited too long")
	}
	fences, left, good := w.readGrant(value)
	if !good {
		connection.close(errBroken)
		return nil, true, fail(ErrRefused, "the server's answer is no fence")
	}
	hold := newHold(c, w, connection, asked, fences, left)
	if hold.Held() || w.several && hold.renew() && hold.Held() { // of several names nobody has told how long they last
		return hold.begin(), true, nil
	}
	c.keep(connection)
	go c.giveBack(w, fences)
	return nil, true, nil
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

func (c *Client) wait(ctx context.Context, on *connection, w want, asked, until time.Duration) (any, error) {
	words := append([]string{}, w.words...)
	if w.TTL > 0 {
		words = append(words, "TTL", milliseconds(w.TTL), "SECRET", c.secret)
	}
	if until != never {
		words = append(words, "WAIT", milliseconds(until-asked))
	}
	if w.several {
		words = append(words, w.names...)
	} else {
		words = append(words, "DEADLINE")
	}
	answer := on.ask(words...)
	for {
		step := probe
		late := until != never && until+c.timeout-clock() <= step
		if late {
			step = until + c.timeout - clock()
		}
		timer := time.NewTimer(step)
		select {
		case r := <-answer:
			timer.Stop()
			if r.err == errBroken {
				return nil, fail(ErrNoServer, on.server.text, ": the connection is broken")
			}
			if r.err != nil {
				c.keep(on)
			}
			return r.value, r.err
		case <-ctx.Done():
			timer.Stop()
			go c.withdraw(on, answer, w)
			return nil, ctx.Err()
		case push := <-on.pushes:
			timer.Stop()
			if len(push) > 2 && push[0] == "position" && w.OnPosition != nil {
				place, _ := push[2].(int64)
				go w.OnPosition(place)
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
			go c.withdraw(on, answer, w)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fail(ErrNoServer, on.server.text, ": no answer")
		}
	}
}

// withdraw gives back a grant that was on its way: it would block its name for as long as its time to live.
func (c *Client) withdraw(on *connection, answer <-chan reply, w want) {
	if fences, _, good := w.readGrant(on.lastWords(answer)); good {
		c.giveBack(w, fences)
	}
}

func (c *Client) giveBack(w want, fences []int64) {
	for i, fence := range fences {
		if w.TTL > 0 {
			c.Execute(context.Background(), w.ending, w.names[i], strconv.FormatInt(fence, 10), "SECRET", c.secret)
		}
	}
}
