// SPDX-License-Identifier: MIT

package conclave

import (
	"context"
	"errors"
	"strings"
)

// What can go wrong; errors.Is tells which it was. Every client of Conclave has the same kinds.
var (
	ErrTimeout  = errors.New("timeout")   // somebody else held it for as long as the caller wanted to wait
	ErrLost     = errors.New("lost")      // it is not held, or not any more
	ErrNoServer = errors.New("no-server") // no server can be reached
	ErrNoQuorum = errors.New("no-quorum") // the servers have no majority
	ErrDenied   = errors.New("denied")    // the server does not allow it
	ErrRefused  = errors.New("refused")   // the server answered with another error
	ErrInvalid  = errors.New("invalid")   // an argument makes no sense
)

// Error is one of the kinds above, and says more about it.
type Error struct {
	Kind error
	Text string
}

func (e *Error) Error() string { return "conclave: " + e.Text }

// Is: a lost hold is also a context that was cancelled.
func (e *Error) Is(target error) bool {
	return target == e.Kind || (e.Kind == ErrLost && target == context.Canceled)
}

func fail(kind error, text ...string) error { return &Error{kind, strings.Join(text, "")} }

// errorOf is the error that a server's line means.
func errorOf(line string) error {
	word, _, _ := strings.Cut(line, " ")
	switch word {
	case "LOST":
		return fail(ErrLost, line)
	case "NOQUORUM", "LOADING":
		return fail(ErrNoQuorum, line)
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return fail(ErrDenied, line)
	}
	return fail(ErrRefused, line)
}
