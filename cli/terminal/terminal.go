// Package terminal asks people at a terminal.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ErrNone is the error of asking where nobody sits.
var ErrNone = errors.New("there is no terminal to ask at")

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Terminal asks questions on one stream and reads the answers from another.
type Terminal struct {
	in  *os.File
	out io.Writer
}

// New returns the terminal that in is; out is where questions are written. Where in is no terminal, all questions fail
// with [ErrNone].
func New(in io.Reader, out io.Writer) *Terminal {
	t := &Terminal{out: out}
	if Is(in) {
		t.in = in.(*os.File)
	}
	return t
}

// Secret asks for a line that is not shown as it is typed.
func (t *Terminal) Secret(ctx context.Context, question string) (string, error) {
	if t.in == nil {
		return "", ErrNone
	}
	fd := int(t.in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	answer, err := t.ask(ctx, question, func() (string, error) {
		secret, err := term.ReadPassword(fd)
		return string(secret), err
	})
	_, newline := fmt.Fprintln(t.out) // the answer's own was not shown
	// Where the context ended, the reader is still there and has the echo turned off.
	return answer, errors.Join(err, newline, term.Restore(fd, before))
}

// Line asks for a line.
func (t *Terminal) Line(ctx context.Context, question string) (string, error) {
	if t.in == nil {
		return "", ErrNone
	}
	return t.ask(ctx, question, func() (string, error) {
		line, err := bufio.NewReader(t.in).ReadString('\n')
		return strings.TrimRight(line, "\r\n"), err
	})
}

// ask lets the context end a question: reading from a terminal cannot be interrupted, so the reader is left behind,
// which the end of the program takes with it.
func (t *Terminal) ask(ctx context.Context, question string, read func() (string, error)) (string, error) {
	if _, err := fmt.Fprint(t.out, question); err != nil {
		return "", err
	}
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := read()
		answered <- answer{text, err}
	}()
	select {
	case a := <-answered:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
