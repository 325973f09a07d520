package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// commandTimeout bounds the time of a command that ends by itself.
const commandTimeout = 2 * time.Minute

// The program's exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// user runs commands, with its own home directory.
type user struct {
	t           *testing.T
	environment []string
	program     string // empty: built from the current sources
}

func newUser(t *testing.T) *user {
	t.Helper()
	mine := slices.DeleteFunc(environment(), func(variable string) bool {
		return strings.HasPrefix(variable, "HOME=") || strings.HasPrefix(variable, "XDG_")
	})
	return &user{t: t, environment: append(mine, "HOME="+t.TempDir())}
}

// in returns the same user within another test.
func (u *user) in(t *testing.T) *user { return &user{t: t, environment: u.environment} }

// of makes the user's commands speak to a node.
func (u *user) of(node *process) *user {
	u.environment = append(u.environment, "CAIRN_RPC_URL="+node.RPC)
	return u
}

// result is the result of a command.
type result struct {
	args           []string
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return "cairn " + strings.Join(r.args, " ") + "\nstdout: " + r.stdout + "\nstderr: " + r.stderr
}

// run runs a command that ends by itself. A person must never see a stack trace.
func (u *user) run(args ...string) result {
	u.t.Helper()
	binary := u.program
	if binary == "" {
		binary = buildBinary(u.t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	command.Env, command.Stdout, command.Stderr = u.environment, &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		u.t.Fatalf("cairn %s: got %v, error %v", strings.Join(args, " "), err, ctx.Err())
	}
	r := result{args, stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
	if showsTrace(r.stdout + r.stderr) {
		u.t.Errorf("a stack trace is shown: got %s", r)
	}
	return r
}

// showsTrace reports whether a program's output contains a stack trace.
func showsTrace(output string) bool {
	return strings.Contains(output, "goroutine ") || strings.Contains(output, "panic:")
}

// succeeds runs a command for programs, which must succeed, and decodes its result into result unless that is nil.
func (u *user) succeeds(result any, args ...string) {
	u.t.Helper()
	r := u.run(append(args, "--json")...)
	if r.code != exitDone {
		u.t.Fatalf("exit code %d, want %d: got %s", r.code, exitDone, r)
	}
	document := u.document(r)
	if document.OK == nil || !*document.OK || document.Result == nil || document.Error != nil {
		u.t.Fatalf("no result: got %s", r)
	}
	if result != nil {
		if err := json.Unmarshal(document.Result, result); err != nil {
			u.t.Fatalf("%v: got %s", err, r)
		}
	}
}

// failure is an error in the output for programs.
type failure struct {
	Code    int
	Message string
	Data    map[string]any
}

// fails runs a command for people and for programs. Both must end with the exit code. It returns the error.
func (u *user) fails(code int, args ...string) failure {
	u.t.Helper()
	people := u.run(args...)
	if people.code != code || people.stdout != "" || !strings.Contains(people.stderr, "Error: ") {
		u.t.Errorf("exit code %d, want %d, nothing on the standard output and an error: %s", people.code, code, people)
	}
	r := u.run(append([]string{"--json"}, args...)...)
	if r.code != code {
		u.t.Fatalf("exit code %d, want %d: %s", r.code, code, r)
	}
	document := u.document(r)
	if document.OK == nil || *document.OK || document.Result != nil || document.Error == nil ||
		document.Error.Message == "" {
		u.t.Fatalf("no error: %s", r)
	}
	return *document.Error
}

// document parses the output of a command with --json.
type document struct {
	OK     *bool
	Result json.RawMessage
	Error  *failure
}

// document decodes the standard output, which must be one JSON document.
func (u *user) document(r result) (d document) {
	u.t.Helper()
	decoder := json.NewDecoder(strings.NewReader(r.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		u.t.Fatalf("no JSON document: %v: got %s", err, r)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		u.t.Fatalf("more than one JSON document: got %s", r)
	}
	return d
}
