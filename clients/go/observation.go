// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"time"
)

const lookAgain = 2 * time.Second // an observed election is asked about so often: a server that hangs pushes nothing

// Leader is who leads, and what was published with it. Nobody: ID is empty.
type Leader struct {
	ID    string
	Fence int64
	Value string
}

func readLeader(value any) Leader {
	var leader Leader
	items, _ := value.([]any)
	if len(items) >= 2 {
		leader.ID, _ = items[0].(string)
		leader.Fence, _ = items[1].(int64)
	}
	if len(items) > 3 {
		leader.Value, _ = items[3].(string)
	}
	if leader.ID == "" {
		return Leader{}
	}
	return leader
}

// Leader tells who leads.
func (c *Client) Leader(ctx context.Context, name string) (Leader, error) {
	w := want{names: []string{name}}
	if err := w.check(); err != nil {
		return Leader{}, err
	}
	value, err := c.Execute(ctx, "LEADER", name)
	return readLeader(value), err
}

// Observe sends the present leader, and every change, until the context ends; then the channel is closed. If the server is
// lost or hangs, it goes on with another one.
func (c *Client) Observe(ctx context.Context, name string) (<-chan Leader, error) {
	return c.observe(ctx, &observation{name: name, first: "OBSERVE", again: "LEADER", push: "leader"})
}

// Watch is the same for a lock: who got it last, and nobody when it was given back. A short hold may be missed.
func (c *Client) Watch(ctx context.Context, name string) (<-chan Leader, error) {
	return c.observe(ctx, &observation{name: name, first: "WATCH", again: "WATCH", push: "lock"})
}

func (c *Client) observe(ctx context.Context, o *observation) (<-chan Leader, error) {
	w := want{names: []string{o.name}}
	if err := w.check(); err != nil {
		return nil, err
	}
	o.client, o.news = c, make(chan Leader)
	go o.run(ctx)
	return o.news, nil
}

type observation struct {
	client *Client
	name   string
	first  string // the command that begins it
	again  string // and the one that looks again
	push   string
	news   chan Leader
	last   Leader
	begun  bool
}

func (o *observation) run(ctx context.Context) {
	defer close(o.news)
	for ctx.Err() == nil && o.client.end.Err() == nil {
		if connection, err := o.client.connect(ctx, o.client.timeout, never); err == nil {
			o.watch(ctx, connection)
			connection.close(errBroken)
		}
		o.client.giveUp()
		time.Sleep(pause)
	}
}

// watch returns when the context has ended, or the connection.
func (o *observation) watch(ctx context.Context, on *connection) {
	verb := o.first
	for {
		value, err := on.askWithin(o.client.timeout, verb, o.name)
		if err != nil || !o.see(ctx, readLeader(value)) {
			return
		}
		verb = o.again
		for timer := time.NewTimer(lookAgain); timer != nil; {
			select {
			case push := <-on.pushes:
				if len(push) > 3 && push[0] == o.push && push[1] == o.name &&
					!o.see(ctx, readLeader(append([]any{push[2], push[3], nil}, push[4:]...))) {
					return
				}
			case <-timer.C:
				timer = nil
			case <-on.gone:
				return
			case <-ctx.Done():
				return
			case <-o.client.end.Done():
				return
			}
		}
	}
}

func (o *observation) see(ctx context.Context, leader Leader) bool {
	if o.begun && leader == o.last {
		return true
	}
	o.begun, o.last = true, leader
	select {
	case o.news <- leader:
		return true
	case <-ctx.Done():
	case <-o.client.end.Done():
	}
	return false
}
