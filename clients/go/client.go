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
	stays  map[leaver]bool
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
		secret: hex.EncodeToString(secret[:]), holds: map[*Hold]bool{}, stays: map[leaver]bool{}}
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
	holds, stays := []*Hold{}, []leaver{}
	for hold := range c.holds {
		holds = append(holds, hold)
	}
	for stay := range c.stays {
		stays = append(stays, stay)
	}
	c.mutex.Unlock()
	for _, stay := range stays {
		stay.abandon()
	}
	var all sync.WaitGroup
	for _, hold := range holds {
		all.Add(1)
		go func(hold *Hold) {
			hold.releaseEntirely()
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
	// Reentrant: if the context is that of a hold of this name, or comes from it, it is the same hold, to be released once more.
	Reentrant bool
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
	if options.Reentrant {
		if options.Shared || options.Permits > 0 {
			return nil, fail(ErrInvalid, name, ": Reentrant expects neither Shared nor Permits")
		}
		if around, _ := ctx.Value(holdKey(name)).(*Hold); around != nil && around.takeAgain(c) {
			return around, nil
		}
	}
	if options.Shared {
		w.kind = []string{"SHARED"}
	}
	if options.Permits != 0 {
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

// ---- questions ----

// Execute asks any command that does not wait. A reply is a string, an int64, a []any, a map[string]any, or nil. If a server
// does not answer, another one is asked the same.
func (c *Client) Execute(ctx context.Context, words ...string) (any, error) {
	connection, value, err := c.askAny(ctx, len(c.servers)+1, words...)
	if connection != nil {
		c.keep(connection)
	}
	return value, err
}

// executeOnce is the same, but no server is asked again.
func (c *Client) executeOnce(ctx context.Context, words ...string) (any, error) {
	connection, value, err := c.askAny(ctx, 1, words...)
	if connection != nil {
		c.keep(connection)
	}
	return value, err
}

// askAny has the answer, and the connection, which is the caller's then.
func (c *Client) askAny(ctx context.Context, attempts int, words ...string) (*connection, any, error) {
	var failure error
	for ; attempts > 0; attempts-- {
		connection, err := c.connect(ctx, c.timeout, never)
		if err != nil {
			return nil, nil, err
		}
		value, err := connection.askWithin(c.timeout, words...)
		if err == nil {
			return connection, value, nil
		}
		if err != errBroken {
			c.keep(connection)
			return nil, nil, err
		}
		failure = fail(ErrNoServer, connection.server.text, ": no answer")
		c.forsake(connection.server)
	}
	return nil, nil, failure
}

// ---- connections ----

// giveUp: the next question goes to another server.
func (c *Client) giveUp() {
	c.mutex.Lock()
	c.turn++
	c.mutex.Unlock()
}

// forsake is the same, whatever connections to this one are there.
func (c *Client) forsake(from server) {
	c.giveUp()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	others := c.idle[:0]
	for _, known := range c.idle {
		if known.server == from {
			known.close(errors.New("no answer"))
		} else {
			others = append(others, known)
		}
	}
	c.idle = others
}

// connect tries each server once, but no more when `until` is over: the end of a hold. A wait is for the lock.
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
	closed, first := c.closed, c.turn // others, who connect at the same time, move on as well
	c.mutex.Unlock()
	if closed {
		return nil, fail(ErrInvalid, "the client is closed")
	}
	var failure error
	for turn := first; turn < first+len(c.servers); turn++ {
		found, err := connect(ctx, c.servers[turn%len(c.servers)], c.with, c.name, patience)
		if err == nil {
			c.mutex.Lock()
			c.turn = turn
			c.mutex.Unlock()
			return found, nil
		}
		failure = err
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
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
