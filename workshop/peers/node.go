package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	startTime = time.Minute      // time limit for starting a node
	stopTime  = 30 * time.Second // time limit for stopping it
)

// peer is a node in the comparison.
type peer struct {
	name string
	// command returns the command that starts a node with a new chain, a block per second, and limits above the load's.
	command func(dir, port string) []string
	// prepare prepares the running node as a target.
	prepare func(ctx context.Context, url string, plan loadgen.Plan) (loadgen.Target, error)
}

// peersOf returns the nodes whose binaries are given, Cairn first.
func peersOf(cairn, geth, anvil string) []peer {
	peers := []peer{{"cairn", func(dir, port string) []string {
		return []string{cairn, "dev", "--data-dir", dir, "--rpc-addr", "127.0.0.1:" + port, "--admin-addr", "127.0.0.1:0"}
	}, func(ctx context.Context, url string, plan loadgen.Plan) (loadgen.Target, error) {
		c, err := client.New(url, client.WithRetry(0))
		if err != nil {
			return nil, err
		}
		return loadgen.PrepareCairn(ctx, c, plan, nil, func(string) {})
	}}}
	ethereum := func(ctx context.Context, url string, plan loadgen.Plan) (loadgen.Target, error) {
		return prepareEthereum(ctx, url, plan)
	}
	if geth != "" {
		peers = append(peers, peer{"geth --dev", func(dir, port string) []string {
			return []string{geth, "--dev", "--dev.period", "1", "--dev.gaslimit", "2000000000", "--miner.gaslimit", "2000000000",
				"--datadir", dir, "--http", "--http.addr", "127.0.0.1", "--http.port", port, "--http.api", "eth", "--ipcdisable",
				"--authrpc.port", "0", "--port", "0", "--nodiscover", "--txpool.accountslots", "100000", "--txpool.globalslots",
				"10000000", "--txpool.accountqueue", "100000", "--txpool.globalqueue", "10000000", "--verbosity", "1"}
		}, ethereum})
	}
	if anvil != "" {
		peers = append(peers, peer{"anvil (in memory)", func(_, port string) []string {
			return []string{anvil, "--silent", "--host", "127.0.0.1", "--port", port, "--block-time", "1", "--gas-limit",
				"2000000000", "--max-transactions", "10000000", "--no-request-size-limit"}
		}, ethereum})
	}
	return peers
}

// process is a running node.
type process struct {
	*program.Process
	url string
}

// start starts a node with a new chain in a directory, and returns once it serves.
func (p peer) start(ctx context.Context, dir string) (*process, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	started, err := program.Start(program.Command{
		Args: p.command(filepath.Join(dir, "data"), port), Log: filepath.Join(dir, "output"), Patience: stopTime,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	err = started.Await(ctx, func(ctx context.Context) (bool, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			return false, nil // not yet
		}
		return true, c.Close()
	})
	if err != nil {
		return nil, errors.Join(err, started.End(syscall.SIGTERM))
	}
	return &process{started, "http://127.0.0.1:" + port}, nil
}

// freePort returns an unused port.
func freePort(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}
