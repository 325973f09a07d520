package main

import (
	"context"
	"errors"
	"syscall"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// node is a running node.
type node struct {
	*program.Node
	client *client.Client
}

// start starts a node in a new directory and returns once it serves.
func start(ctx context.Context, binary, dir, command string, settings ...string) (*node, error) {
	served, err := program.Serve(ctx, program.Command{
		Args: append([]string{
			binary, command, "--data-dir", dir, "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
		}, settings...),
		Log: dir + ".log",
	}, dir+"-ready.json")
	if err != nil {
		return nil, err
	}
	c, err := client.New(served.RPC, client.WithRetry(0))
	if err != nil {
		return nil, errors.Join(err, served.End(syscall.SIGTERM))
	}
	return &node{served, c}, nil
}

// stop ends the node as an operator does.
func (n *node) stop() error {
	n.client.Close()
	return n.Stop()
}

// cpu is the processor time in seconds that the node has used, as its metrics say.
func (n *node) cpu(ctx context.Context) (seconds float64, err error) {
	const used = "process_cpu_seconds_total"
	values, err := n.Metrics(ctx, used)
	return values[used], err
}
