// SPDX-License-Identifier: MIT

package conclave

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// ---- RESP ----

func encode(words []string) []byte {
	bytes := append([]byte("*"), strconv.Itoa(len(words))...)
	for _, word := range words {
		bytes = append(bytes, "\r\n$"...)
		bytes = append(bytes, strconv.Itoa(len(word))...)
		bytes = append(bytes, "\r\n"...)
		bytes = append(bytes, word...)
	}
	return append(bytes, "\r\n"...)
}

// decode reads the next reply. An error that the server tells is a value.
func decode(reader *bufio.Reader) (kind byte, value any, err error) {
	text, err := reader.ReadString('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(text) < 3 || text[len(text)-2] != '\r' {
		return 0, nil, fmt.Errorf("no RESP: %q", text)
	}
	kind, rest := text[0], text[1:len(text)-2]
	number, wrong := strconv.ParseInt(rest, 10, 64)
	switch kind {
	case '+':
		return kind, rest, nil
	case '-':
		return kind, errorOf(rest), nil
	case ':':
		return kind, number, wrong
	case '_':
		return kind, nil, nil
	case '#':
		return kind, rest == "t", nil
	case ',':
		value, err = strconv.ParseFloat(rest, 64)
		return kind, value, err
	case '$', '=', '*', '>', '~', '%':
	default:
		return 0, nil, fmt.Errorf("no RESP: %q", text)
	}
	if wrong != nil || number < 0 {
		return kind, nil, wrong
	}
	if kind == '$' || kind == '=' {
		bytes := make([]byte, number+2)
		if _, err = io.ReadFull(reader, bytes); err != nil {
			return 0, nil, err
		}
		return kind, string(bytes[:number]), nil
	}
	if kind == '%' {
		value, err = decodeMap(reader, number)
		return kind, value, err
	}
	items := []any{}
	for ; number > 0; number-- {
		_, item, err := decode(reader)
		if err != nil {
			return 0, nil, err
		}
		items = append(items, item)
	}
	return kind, items, nil
}

func decodeMap(reader *bufio.Reader, pairs int64) (map[string]any, error) {
	items := map[string]any{}
	for ; pairs > 0; pairs-- {
		_, key, err := decode(reader)
		if err != nil {
			return nil, err
		}
		if _, items[fmt.Sprint(key)], err = decode(reader); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// ---- connections ----

var errBroken = errors.New("the connection is broken")

type reply struct {
	value any
	err   error
}

// connection speaks RESP3. Answers come in the order of the questions, pushes in between.
//
// A library for Redis is no help here. It reconnects and sends a command again by itself, so that a LOCK would be asked for
// twice, and hides for how long a connection was gone. A holder has to know both, at once.
type connection struct {
	server server
	line   line
	pushes chan []any
	gone   chan struct{} // closed when the connection is

	mutex     sync.Mutex
	questions []chan reply
	why       error // it is closed
}

// connect says HELLO and waits for the answer: a process that hangs accepts connections, but does not answer.
func connect(ctx context.Context, to server, with *credentials, name string, timeout time.Duration) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	line, err := dial(ctx, to, with)
	if err != nil {
		return nil, fail(ErrNoServer, to.text, ": ", err.Error())
	}
	c := &connection{server: to, line: line, pushes: make(chan []any, 64), gone: make(chan struct{})}
	go c.read()
	hello := []string{"HELLO", "3"}
	if name != "" {
		hello = append(hello, "SETNAME", name)
	}
	if _, err := c.wait(ctx, c.ask(hello...)); err != nil {
		c.close(err)
		var told *Error
		if errors.As(err, &told) {
			return nil, err
		}
		return nil, fail(ErrNoServer, to.text, ": ", err.Error())
	}
	return c, nil
}

func (c *connection) read() {
	reader := bufio.NewReader(c.line)
	for {
		kind, value, err := decode(reader)
		if err != nil {
			c.close(err)
			return
		}
		if kind == '>' {
			items, _ := value.([]any)
			select {
			case c.pushes <- items:
			default: // nobody listens, which is no reason to stop reading
			}
			continue
		}
		c.mutex.Lock()
		var question chan reply
		if len(c.questions) > 0 {
			question, c.questions = c.questions[0], c.questions[1:]
		}
		c.mutex.Unlock()
		if question == nil {
			c.close(errors.New("the server answered what was not asked"))
			return
		}
		if told, is := value.(error); is {
			question <- reply{nil, told}
		} else {
			question <- reply{value, nil}
		}
	}
}

// ask has the answer come to a channel.
func (c *connection) ask(words ...string) <-chan reply {
	question := make(chan reply, 1)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.why != nil {
		question <- reply{nil, errBroken}
		return question
	}
	c.questions = append(c.questions, question)
	if _, err := c.line.Write(encode(words)); err != nil {
		go c.close(err)
	}
	return question
}

func (c *connection) wait(ctx context.Context, answer <-chan reply) (any, error) {
	select {
	case r := <-answer:
		return r.value, r.err
	case <-ctx.Done():
		select {
		case r := <-answer:
			return r.value, r.err
		default:
			return nil, ctx.Err()
		}
	}
}

// askWithin waits for so long at most. Later the connection is of no use, since an answer is still to come.
func (c *connection) askWithin(patience time.Duration, words ...string) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	value, err := c.wait(ctx, c.ask(words...))
	if err != nil && ctx.Err() != nil {
		c.close(errors.New("no answer"))
		return nil, errBroken
	}
	return value, err
}

func (c *connection) closed() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

func (c *connection) idle() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.why == nil && len(c.questions) == 0
}

// lastWords tells the server that nothing more will come: an answer that is on its way is not lost.
func (c *connection) lastWords(answer <-chan reply) any {
	defer c.close(errors.New("given up"))
	c.line.CloseWrite()
	select {
	case r := <-answer:
		return r.value
	case <-time.After(500 * time.Millisecond):
		return nil
	}
}

func (c *connection) close(why error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.why != nil {
		return
	}
	c.why = why
	go c.line.Close()
	close(c.gone)
	for _, question := range c.questions {
		question <- reply{nil, errBroken}
	}
	c.questions = nil
}
