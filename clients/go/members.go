// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Member of a group.
type Member struct {
	Number int64
	Client string
	Value  string
}

func readMembers(value any) []Member {
	items, _ := value.([]any)
	members := []Member{}
	for _, item := range items {
		var m Member
		if fields, _ := item.([]any); len(fields) > 2 {
			m.Number, _ = fields[0].(int64)
			m.Client, _ = fields[1].(string)
			m.Value, _ = fields[2].(string)
		}
		members = append(members, m)
	}
	return members
}

// Members of a group, in the order in which they joined.
func (c *Client) Members(ctx context.Context, name string) ([]Member, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	value, err := c.Execute(ctx, "MEMBERS", name)
	return readMembers(value), err
}

// WatchMembers sends the present members, and every change, until the context ends; then the channel is closed.
func (c *Client) WatchMembers(ctx context.Context, name string) (<-chan []Member, error) {
	words := []string{"MEMBERS", name}
	return observe(ctx, c, &observation[[]Member]{name: name, first: append(words, "WATCH"), again: words, push: "members",
		read: readMembers, readPush: func(items []any) []Member { return readMembers(items[0]) }})
}

// Membership of a group, until it is left. If its connection ends it joins anew, with another number.
type Membership struct {
	Name     string
	client   *Client
	words    []string
	onChange func(int64)
	left     chan struct{}
	ended    chan struct{}

	mutex  sync.Mutex
	on     *connection
	number int64
}

// Joining says how a group is joined.
type Joining struct {
	Value    string      // what others see with it
	OnChange func(int64) // it had to join anew: 0, and then its new number
}

// Join makes this client a member of a group, until Leave or Close.
func (c *Client) Join(ctx context.Context, name string, joining Joining) (*Membership, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	m := &Membership{Name: name, client: c, words: []string{"MEMBERS", name, "JOIN"}, onChange: joining.OnChange,
		left: make(chan struct{}), ended: make(chan struct{})}
	if joining.Value != "" {
		m.words = append(m.words, "VALUE", joining.Value)
	}
	if err := m.join(ctx); err != nil {
		return nil, err
	}
	c.mutex.Lock()
	c.stays[m] = true
	c.mutex.Unlock()
	go m.run()
	return m, nil
}

// Number is 0 if it is no member at the moment.
func (m *Membership) Number() int64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.number
}

func (m *Membership) join(ctx context.Context) error {
	on, value, err := m.client.askAny(ctx, len(m.client.servers)+1, m.words...)
	if err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.on = on
	m.number, _ = value.(int64)
	return nil
}

func (m *Membership) gone() bool {
	select {
	case <-m.left:
		return true
	default:
		return false
	}
}

func (m *Membership) run() {
	defer close(m.ended)
	for {
		m.client.whileAlive(m.Name, m.on, m.left, func() <-chan reply { return m.on.ask("PING") })
		if m.gone() {
			return
		}
		m.become(0)
		for m.Number() == 0 {
			if m.join(context.Background()) == nil {
				break
			}
			m.client.giveUp()
			select {
			case <-m.left:
				return
			case <-time.After(pause):
			}
		}
		m.become(m.Number())
	}
}

func (m *Membership) become(number int64) {
	m.mutex.Lock()
	m.number = number
	m.mutex.Unlock()
	if m.onChange != nil {
		m.onChange(number)
	}
}

// Leave returns when others do not see it any more. If no server answers, they do not when they notice.
func (m *Membership) Leave() {
	m.client.mutex.Lock()
	there := m.client.stays[m]
	delete(m.client.stays, m)
	m.client.mutex.Unlock()
	if !there {
		return
	}
	close(m.left)
	<-m.ended
	m.on.askWithin(m.client.timeout, "MEMBERS", m.Name, "LEAVE")
	m.on.close(errors.New("left"))
	m.mutex.Lock()
	m.number = 0
	m.mutex.Unlock()
}

func (m *Membership) abandon() { m.Leave() }
