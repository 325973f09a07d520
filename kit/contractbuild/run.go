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

// maxOutputBytes bounds the output kept of a tool.
const maxOutputBytes = 16 << 20

// ToolchainError says which part of a toolchain is missing or differs, and how to get it.
type ToolchainError struct{ text string }

func (e *ToolchainError) Error() string { return e.text }

func missing(format string, args ...any) error { return &ToolchainError{fmt.Sprintf(format, args...)} }

// tool is a program with its complete environment.
type tool struct {
	file string
	env  []string
	log  io.Writer // standard error, for people; nil keeps it for the error
	// logStdout sends standard output to log, too.
	logStdout bool
}

// run runs the tool in dir and returns its standard output.
func (t tool) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, t.file, args...)
	command.Dir, command.Env, command.WaitDelay = dir, t.env, 5*time.Second
	out, stderr := &bounded{}, &bounded{}
	command.Stdout, command.Stderr = out, stderr
	if t.log != nil {
		command.Stderr = t.log
	}
	if t.logStdout {
		command.Stdout = t.log
	}
	err := command.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		text := strings.TrimSpace(stderr.String())
		if text == "" {
			text = err.Error() + ", as said above"
		}
		return nil, fmt.Errorf("%s: %s", filepath.Base(t.file), text)
	}
	return out.Bytes(), nil
}

// bounded is a buffer with a size limit.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutputBytes {
		return 0, errors.New("the output is too long")
	}
	return b.Buffer.Write(p)
}

// exists reports whether a path exists, following links.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
