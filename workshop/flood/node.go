package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	// adminTime is the timeout of the admin address.
	adminTime = time.Minute
	// The addresses from which the node trusts X-Forwarded-For: proxies or, under attack with free work, everyone.
	proxies, everyone = "127.255.0.0/16", "127.0.0.0/8"
	chainID           = 4243
	// balance is the genesis balance of each account, in coins: enough for any gas limit at the fees of the attacks.
	balance = "10000000"
)

// node is the program under attack.
type node struct {
	*program.Node
	address string // JSON-RPC address without a scheme
	dir     string
	keep    bool // whether dir remains at the end
	secured bool // whether the RPC address speaks TLS
	command program.Command
}

// startNode starts a network whose genesis funds all accounts, and its node.
func startNode(ctx context.Context, s settings) (n *node, err error) {
	dir := s.keep
	if dir == "" {
		if dir, err = os.MkdirTemp(s.directory, "cairn-flood-"); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, os.RemoveAll(dir))
			}
		}()
	}
	data := filepath.Join(dir, "data")
	n = &node{dir: dir, keep: s.keep != "", address: "127.0.0.1:0", command: program.Command{Args: []string{
		s.binary, "node", "--data-dir", data, "--admin-addr", "127.0.0.1:0",
		"--rate-limit", strconv.FormatUint(s.rateLimit, 10),
	}}}
	if _, err := os.Stat(data); err == nil { // kept by an earlier run
		n.command.Args = append(n.command.Args, "--prove", "off")
		return n, n.serve(ctx, "--block-time", "1s")
	}
	arguments := []string{"init", data, "--network", string(types.Regtest), "--chain-id", strconv.Itoa(chainID)}
	for _, a := range allAccounts(s) {
		arguments = append(arguments, "--alloc", a.String()+"="+balance)
	}
	if output, err := exec.CommandContext(ctx, s.binary, arguments...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("start a network: %w\n%s", err, output)
	}
	if s.free {
		n.command.Args = append(n.command.Args, "--prove", "off")
		return n, n.serve(ctx, "--block-time", "1s")
	}
	// Three quarters of the memory limit, as docs/operators.md recommends.
	n.command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", s.memoryMiB*3/4))
	return n, n.serve(ctx, "--block-time", s.blockTime.String(), "--trusted-proxy", proxies)
}

// serve starts the program with additional arguments.
func (n *node) serve(ctx context.Context, arguments ...string) error {
	command := n.command
	command.Args = slices.Concat(command.Args, []string{"--rpc-addr", n.address}, arguments)
	served, err := program.Serve(ctx, command, filepath.Join(n.dir, "ready.json"))
	if err != nil {
		return err
	}
	scheme, address, _ := strings.Cut(served.RPC, "://")
	n.Node, n.address, n.secured = served, address, scheme == "https"
	return nil
}

// restart stops the program and starts it again at the same address, on the same chain, with other arguments.
func (n *node) restart(ctx context.Context, arguments ...string) error {
	select {
	case <-n.Ended(): // the last round crashed it
	default:
		if err := n.Stop(); err != nil {
			return err
		}
	}
	return n.serve(ctx, arguments...)
}

// stop stops the node as an operator does, and removes its data.
func (n *node) stop() error {
	if n.keep {
		return n.Stop()
	}
	return errors.Join(n.Stop(), os.RemoveAll(n.dir))
}

// sample is a reading of the node's metrics.
type sample struct {
	height                                  uint64
	connections, goroutines, files, pending int
	residentBytes                           uint64
}

// sample reads the node's metrics.
func (n *node) sample(ctx context.Context) (s sample, err error) {
	const (
		height, goroutines, files = "cairn_head_height", "go_goroutines", "process_open_fds"
		resident, pending,
		connections = "process_resident_memory_bytes", "cairn_mempool_transactions", "cairn_http_connections"
	)
	ctx, cancel := context.WithTimeout(ctx, adminTime)
	defer cancel()
	values, err := n.Metrics(ctx, height, goroutines, files, resident, pending, connections)
	return sample{
		height:        uint64(values[height]),
		goroutines:    int(values[goroutines]),
		files:         int(values[files]),
		pending:       int(values[pending]),
		connections:   int(values[connections]),
		residentBytes: uint64(values[resident]),
	}, err
}
