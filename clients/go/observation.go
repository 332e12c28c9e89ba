// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"reflect"
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
	if err := checkName(name); err != nil {
		return Leader{}, err
	}
	value, err := c.Execute(ctx, "LEADER", name)
	return readLeader(value), err
}

// Observe sends the present leader, and every change, until the context ends; then the channel is closed. If the server is
// lost or hangs, it goes on with another one.
func (c *Client) Observe(ctx context.Context, name string) (<-chan Leader, error) {
	return observe(ctx, c, leaders(name, "OBSERVE", "LEADER", "leader"))
}

// Watch is the same for a lock: who got it last, and nobody when it was given back. A short hold may be missed.
func (c *Client) Watch(ctx context.Context, name string) (<-chan Leader, error) {
	return observe(ctx, c, leaders(name, "WATCH", "WATCH", "lock"))
}

func leaders(name, first, again, push string) *observation[Leader] {
	return &observation[Leader]{name: name, first: []string{first, name}, again: []string{again, name}, push: push,
		read: readLeader, readPush: func(items []any) Leader {
			if len(items) < 2 {
				return Leader{}
			}
			return readLeader(append([]any{items[0], items[1], nil}, items[2:]...))
		}}
}

// observation of something that changes. If the server is lost or hangs, it goes on with another one.
type observation[T any] struct {
	client   *Client
	name     string
	first    []string // the command that begins it
	again    []string // and the one that looks again
	push     string
	read     func(any) T
	readPush func([]any) T
	news     chan T
	last     T
	begun    bool
}

func observe[T any](ctx context.Context, c *Client, o *observation[T]) (<-chan T, error) {
	if err := checkName(o.name); err != nil {
		return nil, err
	}
	o.client, o.news = c, make(chan T)
	go o.run(ctx)
	return o.news, nil
}

func (o *observation[T]) run(ctx context.Context) {
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
func (o *observation[T]) watch(ctx context.Context, on *connection) {
	words := o.first
	for {
		value, err := on.askWithin(o.client.timeout, words...)
		if err != nil || !o.see(ctx, o.read(value)) {
			return
		}
		words = o.again
		for timer := time.NewTimer(lookAgain); timer != nil; {
			select {
			case push := <-on.pushes:
				if len(push) > 2 && push[0] == o.push && push[1] == o.name && !o.see(ctx, o.readPush(push[2:])) {
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

func (o *observation[T]) see(ctx context.Context, told T) bool {
	if o.begun && reflect.DeepEqual(told, o.last) {
		return true
	}
	o.begun, o.last = true, told
	select {
	case o.news <- told:
		return true
	case <-ctx.Done():
	case <-o.client.end.Done():
	}
	return false
}
