package contractbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// maxOutputBytes bounds what is kept of what a tool writes.
const maxOutputBytes = 16 << 20

// ToolchainError says what of a toolchain is missing or another, and how to get it.
type ToolchainError struct{ text string }

func (e *ToolchainError) Error() string { return e.text }

func missing(format string, args ...any) error { return &ToolchainError{fmt.Sprintf(format, args...)} }

// tool is a program that is run with these variables as its whole environment.
type tool struct {
	file string
	env  []string
	log  io.Writer // what it tells people; nil keeps it for the error
	// tells says that its standard output is for people too.
	tells bool
}

// run gives what the tool writes to its standard output. Its working directory is dir.
func (t tool) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, t.file, args...)
	command.Dir, command.Env, command.WaitDelay = dir, t.env, 5*time.Second
	out, told := &bounded{}, &bounded{}
	command.Stdout, command.Stderr = out, told
	if t.log != nil {
		command.Stderr = t.log
	}
	if t.tells {
		command.Stdout = t.log
	}
	err := command.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		text := strings.TrimSpace(told.String())
		if text == "" {
			text = err.Error() + ", as said above"
		}
		return nil, fmt.Errorf("%s: %s", filepath.Base(t.file), text)
	}
	return out.Bytes(), nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutputBytes {
		return 0, errors.New("the output is too long")
	}
	return b.Buffer.Write(p)
}

// exists reports whether there is something at a path, links followed.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
