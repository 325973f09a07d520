package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/testkit/program"
	"github.com/cairn-chain/cairn/types"
)

const (
	// adminTime is how long the admin address may take to answer.
	adminTime = 10 * time.Second
	// proxies are whose X-Forwarded-For the node believes.
	proxies = "127.255.0.0/16"
	chainID = 4243
	// balance is what each account has at genesis, in coins: enough for any gas limit at the fees of the attacks.
	balance = "10000000"
)

// node is the program under attack.
type node struct {
	*program.Node
	address string // of JSON-RPC, without a scheme
	dir     string
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
	data := filepath.Join(dir, "data")
	arguments := []string{"init", data, "--network", string(types.Regtest), "--chain-id", strconv.Itoa(chainID)}
	for _, a := range allAccounts(s) {
		arguments = append(arguments, "--alloc", a.String()+"="+balance)
	}
	if output, err := exec.CommandContext(ctx, s.binary, arguments...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("start a network: %w\n%s", err, output)
	}
	served, err := program.Serve(ctx, program.Command{
		Args: []string{s.binary, "node", "--data-dir", data, "--block-time", s.blockTime.String(), "--rpc-addr",
			"127.0.0.1:0",
			"--admin-addr", "127.0.0.1:0", "--trusted-proxy", proxies, "--rate-limit", strconv.FormatUint(s.rateLimit, 10)},
		// Three quarters of the bound, as docs/operators.md recommends.
		Env: append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", s.memoryMiB*3/4)),
	}, filepath.Join(dir, "ready.json"))
	if err != nil {
		return nil, err
	}
	return &node{Node: served, address: strings.TrimPrefix(served.RPC, "http://"), dir: dir}, nil
}

// stop ends the node as an operator does, and removes its data.
func (n *node) stop() error { return errors.Join(n.Stop(), os.RemoveAll(n.dir)) }

// sample is what the admin address tells.
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
