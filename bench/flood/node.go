package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/types"
)

const (
	// serveTime and endTime are how long a node may take to serve and to end.
	serveTime = time.Minute
	endTime   = time.Minute
	// adminTime is how long the admin address may take to answer.
	adminTime = 10 * time.Second
	// pollTime is between two looks at something that has no signal.
	pollTime = 50 * time.Millisecond
	// proxies are whose X-Forwarded-For the node believes.
	proxies = "127.255.0.0/16"
	chainID = 4243
	// balance is what each account has at genesis, in coins: enough for any gas limit at the fees of the attacks.
	balance = "10000000"
)

// node is the program under attack.
type node struct {
	RPC   string `json:"rpc"`
	Admin string `json:"admin"`

	address string // of JSON-RPC, without a scheme
	command *exec.Cmd
	dir     string
	ended   chan struct{}
	err     error // how it ended
	admin   http.Client
}

// startNode starts a network whose genesis funds all accounts, and its node.
func startNode(ctx context.Context, s settings) (n *node, err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-flood-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	data, ready := filepath.Join(dir, "data"), filepath.Join(dir, "ready.json")
	arguments := []string{"init", data, "--network", string(types.Regtest), "--chain-id", strconv.Itoa(chainID)}
	for _, a := range allAccounts(s) {
		arguments = append(arguments, "--alloc", a.String()+"="+balance)
	}
	if output, err := exec.CommandContext(ctx, s.binary, arguments...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("start a network: %w\n%s", err, output)
	}
	n = &node{dir: dir, ended: make(chan struct{}), admin: http.Client{Timeout: adminTime}}
	n.command = exec.Command(s.binary, "node", "--data-dir", data, "--block-time", s.blockTime.String(), "--rpc-addr", "127.0.0.1:0",
		"--admin-addr", "127.0.0.1:0", "--trusted-proxy", proxies, "--rate-limit", strconv.FormatUint(s.rateLimit, 10), "--ready-file", ready)
	n.command.Stderr = os.Stderr
	// Three quarters of the bound, as docs/operators.md recommends.
	n.command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", s.memoryMiB*3/4))
	if err := n.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		n.err = n.command.Wait()
		close(n.ended)
	}()
	if err := n.awaitReady(ctx, ready); err != nil {
		_ = n.command.Process.Kill() // it may have ended already
		<-n.ended
		return nil, err
	}
	return n, nil
}

func (n *node) awaitReady(ctx context.Context, ready string) error {
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	for {
		text, err := os.ReadFile(ready)
		if err == nil {
			err = json.Unmarshal(text, n)
			n.address = strings.TrimPrefix(n.RPC, "http://")
			return err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-time.After(pollTime):
		case <-n.ended:
			return fmt.Errorf("the node ended before it served: %w", n.err)
		case <-ctx.Done():
			return fmt.Errorf("the node does not serve: %w", ctx.Err())
		}
	}
}

// stop ends the node as an operator does, and removes its data.
func (n *node) stop() (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(n.dir)) }()
	if err := n.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-n.ended:
		return n.err
	case <-time.After(endTime):
		err := n.command.Process.Kill()
		<-n.ended
		return errors.Join(fmt.Errorf("the node still ran %s after SIGTERM", endTime), err)
	}
}

// sample is what the admin address tells.
type sample struct {
	height                                  uint64
	connections, goroutines, files, pending int
	residentBytes                           uint64
}

// sample reads the node's metrics.
func (n *node) sample(ctx context.Context) (s sample, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Admin+"/metrics", nil)
	if err != nil {
		return s, err
	}
	response, err := n.admin.Do(request)
	if err != nil {
		return s, err
	}
	defer response.Body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = value
		}
	}
	for _, name := range []string{"cairn_head_height", "go_goroutines", "process_open_fds", "process_resident_memory_bytes", "cairn_mempool_transactions",
		"cairn_http_connections"} {
		if _, ok := values[name]; !ok {
			return s, fmt.Errorf("the metrics have no %s (%w)", name, errors.Join(lines.Err(), errIncomplete))
		}
	}
	return sample{
		height: uint64(values["cairn_head_height"]), goroutines: int(values["go_goroutines"]), files: int(values["process_open_fds"]),
		pending: int(values["cairn_mempool_transactions"]), connections: int(values["cairn_http_connections"]), residentBytes: uint64(values["process_resident_memory_bytes"]),
	}, nil
}

var errIncomplete = errors.New("they are not complete")

// resetPeak makes peak count from now on (proc(5): clear_refs).
func (n *node) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", n.command.Process.Pid), []byte("5"), 0)
}

// peak is the most memory in bytes that the node had resident since resetPeak (proc(5): VmHWM).
func (n *node) peak() (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseUint(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the system does not tell the node's memory")
}
