package e2e

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// commandTimeout is how long a command that ends by itself may take.
const commandTimeout = time.Minute

// result is what a command did that has ended.
type result struct {
	args           []string
	stdout, stderr string
	code           int
}

// run runs a command that ends by itself.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runIn(t, environment(), args...)
}

// runIn runs a command that ends by itself in an environment.
func runIn(t *testing.T, environment []string, args ...string) result {
	t.Helper()
	binary := buildBinary(t)
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	command.Env, command.Stdout, command.Stderr = environment, &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("cairn %s: %v", strings.Join(args, " "), err)
	}
	r := result{args: args, stdout: stdout.String(), stderr: stderr.String(), code: command.ProcessState.ExitCode()}
	if strings.Contains(r.stdout+r.stderr, "goroutine ") {
		t.Errorf("a stack trace is shown: %s", r)
	}
	return r
}

func (r result) String() string {
	return "cairn " + strings.Join(r.args, " ") + "\nstdout: " + r.stdout + "\nstderr: " + r.stderr
}

// succeeded fails the test unless the command did what it was to do.
func (r result) succeeded(t *testing.T) result {
	t.Helper()
	return r.exited(t, 0)
}

// exited fails the test unless the command ended with an exit code.
func (r result) exited(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d: %s", r.code, code, r)
	}
	return r
}
