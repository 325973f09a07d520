// Package e2e tests the program from outside: it builds the user's binary, runs it as a process, and speaks to it over
// the network.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// command is the program under test, in the form that `go build` takes.
const command = "github.com/cairn-chain/cairn/cmd/cairn"

// startTimeout bounds the time until a node serves, stopTimeout the time until it ends, on a busy machine.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
)

// atOnce is the number of concurrent tests per core: their nodes wait for one another most of the time.
const atOnce = 2

// binaryDir holds the binary while the tests of the package run.
var binaryDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cairn-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaryDir = dir
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	bounded := false // by the environment of the tests
	flag.Visit(func(f *flag.Flag) { bounded = bounded || f.Name == "test.parallel" })
	if !bounded {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce*runtime.GOMAXPROCS(0))); err != nil {
			panic(err) // no such flag
		}
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// build compiles the program once for all tests of the package.
var build = sync.OnceValues(func() (string, error) { return compile("cairn") })

// compile compiles the program into a file in binaryDir.
func compile(name string, flags ...string) (string, error) {
	path := filepath.Join(binaryDir, name)
	compile := exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{command})...)
	compile.Dir = "../.." // the program's own module
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, output)
	}
	return path, nil
}

// buildBinary returns the path of the program, built from the current sources.
func buildBinary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The range of ports that [freeAddress] returns. Systems give none of them to listeners on any port or to outgoing
// connections, and TestBalancers uses those below.
const (
	firstPort = 29_300
	ports     = 32_768 - firstPort
)

var given atomic.Uint32 // number of addresses handed out

// freeAddress returns an address on which nothing listens and which the system never assigns by itself. It is for a
// node whose address others must know in advance, or for an unreachable node.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		// Simultaneous runs on one machine rarely get the same port.
		port := firstPort + (uint32(os.Getpid())*100+given.Add(1))%ports
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
		if listener, err := net.Listen("tcp", address); err == nil {
			if err := listener.Close(); err != nil {
				t.Fatal(err)
			}
			return address
		}
	}
}

// account is a funded account of a development chain. The keys are hex.
type account struct {
	Address    string `json:"address"`
	PublicKey  string `json:"publicKey"`
	PrivateKey string `json:"privateKey"`
}

// process is a running node.
type process struct {
	*program.Node
	Accounts []account `json:"accounts"` // of a development chain

	ready, log string // paths of the ready file and of its output
}

// startDev runs `cairn dev` with args on free ports, and returns once the node serves. args must include --ephemeral or
// --data-dir. The process and its children end with the test.
func startDev(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, append([]string{"dev"}, args...)...)
}

// start runs a command that serves, in the same way as [startDev].
func start(t *testing.T, args ...string) *process {
	t.Helper()
	node := launch(t, args...)
	if err := node.awaitReady(); err != nil {
		t.Fatal(err)
	}
	return node
}

// launch runs a command that serves on free ports, without waiting until it serves.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	return launchAt(t, "127.0.0.1:0", args...)
}

// launchAt is launch with the given address of JSON-RPC.
func launchAt(t *testing.T, address string, args ...string) *process {
	t.Helper()
	return launchProgram(t, buildBinary(t), address, args...)
}

// launchProgram is launchAt for another build of the program.
func launchProgram(t *testing.T, binary, address string, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	node := &process{ready: filepath.Join(dir, "ready.json"), log: filepath.Join(dir, "log")}
	started, err := program.Start(program.Command{
		Args: slices.Concat([]string{binary}, args, []string{
			"--rpc-addr", address, "--admin-addr", "127.0.0.1:0", "--ready-file", node.ready,
		}),
		Env:      environment(),
		Log:      node.log,
		Patience: stopTimeout,
	})
	if err != nil {
		t.Fatalf("start the node: error %v", err)
	}
	node.Node = &program.Node{Process: started}
	t.Cleanup(func() {
		node.Kill()
		if t.Failed() {
			t.Logf("a node, %s, printed:\n%s", strings.Join(args, " "), node.printed(t))
		}
	})
	return node
}

// printed returns the node's standard output and error.
func (node *process) printed(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(node.log)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// environment returns this process's environment without the program's settings.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "CAIRN_") })
}

// awaitReady reads the ready file into node as soon as the file exists.
func (node *process) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return node.AwaitReady(ctx, node.ready, node)
}
