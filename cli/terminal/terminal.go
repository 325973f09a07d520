// Package terminal asks the user questions at a terminal.
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

// ErrNone is returned by questions without a terminal.
var ErrNone = errors.New("there is no terminal for a prompt")

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Terminal writes questions to one stream and reads the answers from another.
type Terminal struct {
	in  *os.File
	out io.Writer
}

// New returns a terminal that reads answers from in and writes questions to out. If in is not a terminal, all questions
// fail with [ErrNone].
func New(in io.Reader, out io.Writer) *Terminal {
	t := &Terminal{out: out}
	if Is(in) {
		t.in = in.(*os.File)
	}
	return t
}

// Secret asks for a line that is not echoed.
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
	_, newline := fmt.Fprintln(t.out) // the newline of the answer was not echoed
	// After the context ended, the abandoned reader has still turned off the echo.
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

// ask runs a question that the context can end. Reads from a terminal cannot be interrupted, so the reader is abandoned
// until the program exits.
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
