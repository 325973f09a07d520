// Package e2e tests the program from outside: it builds the binary that a user gets, runs it as a process, and speaks
// to it over the network.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the command under test, as `go build` names it.
const program = "github.com/cairn-chain/cairn/cmd/cairn"

// startTimeout is how long a node may take to serve, stopTimeout how long to end.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 15 * time.Second
)

// binaryDir holds the binary while the tests of the package run.
var binaryDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cairn-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaryDir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// build compiles the program once for all tests of the package.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "cairn")
	command := exec.Command("go", "build", "-o", path, program)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, output)
	}
	return path, nil
})

// buildBinary returns the path of the program, built from the present sources.
func buildBinary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// account is a funded account of a development chain. The keys are hex.
type account struct {
	Address    string `json:"address"`
	PublicKey  string `json:"publicKey"`
	PrivateKey string `json:"privateKey"`
}

// process is a running node.
type process struct {
	RPC      string    `json:"rpc"`      // URL of JSON-RPC
	Admin    string    `json:"admin"`    // URL of health and readiness
	Accounts []account `json:"accounts"` // of a development chain

	command *exec.Cmd
	ready   string        // path of the ready file
	output  *bytes.Buffer // what it printed; read it only after it ended
	ended   chan struct{} // closed once the process was reaped
	err     error         // how it ended
}

// startDev runs `cairn dev` with args on free ports and returns once it serves. Where the chain is kept is for args to
// say (--ephemeral or --data-dir). The process and all that it started end with the test.
func startDev(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, append([]string{"dev"}, args...)...)
}

// start runs a command that serves, as [startDev] does.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	node := launch(t, args...)
	if err := node.awaitReady(); err != nil {
		t.Fatal(err)
	}
	return node
}

// launch runs a command that serves, on free ports, and does not wait until it does.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	return launchAt(t, "127.0.0.1:0", args...)
}

// launchAt is launch with the address of JSON-RPC.
func launchAt(t *testing.T, address string, args ...string) *process {
	t.Helper()
	node := &process{ready: filepath.Join(t.TempDir(), "ready.json"), output: new(bytes.Buffer), ended: make(chan struct{})}
	args = append(args, "--rpc-addr", address, "--admin-addr", "127.0.0.1:0", "--ready-file", node.ready)
	node.command = exec.Command(buildBinary(t), args...)
	node.command.Env = environment()
	node.command.Stdout, node.command.Stderr = node.output, node.output
	// A group of its own, so that a signal reaches everything it started.
	node.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := node.command.Start(); err != nil {
		t.Fatalf("start the node: %v", err)
	}
	go func() {
		node.err = node.command.Wait()
		close(node.ended)
	}()
	t.Cleanup(func() {
		node.Kill()
		if t.Failed() && node.output.Len() > 0 {
			t.Logf("the node with the process id %d printed:\n%s", node.command.Process.Pid, node.output)
		}
	})
	return node
}

// environment is this process's environment without settings of the program.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "CAIRN_") })
}

// awaitReady reads the ready file into node as soon as it is there.
func (node *process) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		data, err := os.ReadFile(node.ready)
		if err == nil {
			if err := json.Unmarshal(data, node); err != nil {
				return fmt.Errorf("ready file: %w", err)
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-node.ended:
			return fmt.Errorf("the node ended before it served: %v", node.err)
		case <-ctx.Done():
			return fmt.Errorf("the node does not serve after %s", startTimeout)
		}
	}
}

// Stop asks the node to end as a user does (SIGTERM), and returns how it ended: nil for exit code 0.
func (node *process) Stop() error { return node.end(syscall.SIGTERM) }

// end sends a signal that asks the node to end, and returns how it ended.
func (node *process) end(signal syscall.Signal) error {
	if err := node.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-node.ended:
		return node.err
	case <-time.After(stopTimeout):
		node.Kill()
		return fmt.Errorf("the node still ran %s after %s", stopTimeout, signal)
	}
}

// Kill ends the node and all that it started at once (SIGKILL), as a crash does, and returns when it is gone.
func (node *process) Kill() {
	select {
	case <-node.ended: // reaped: its id may belong to another by now
		return
	default:
	}
	// The one possible error is that the group is gone, and then the wait returns.
	_ = syscall.Kill(-node.command.Process.Pid, syscall.SIGKILL)
	<-node.ended
}
