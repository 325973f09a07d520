package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// node is `cairn node`, which may be stopped and started again.
type node struct {
	*program.Node // nil while it is stopped

	program   string
	name      string   // of its log and its ready file
	dir, data string   // where those are, and its data directory
	port      int      // of its JSON-RPC; its metrics are at the next one
	under     []string // a command that runs it
}

func (n *node) url() string   { return fmt.Sprintf("http://127.0.0.1:%d", n.port) }
func (n *node) admin() string { return fmt.Sprintf("http://127.0.0.1:%d", n.port+1) }

// adminFlags are the flags of a command that changes something at the node's admin address.
func (n *node) adminFlags() []string {
	return []string{"--admin", n.admin(), "--admin-token-file", filepath.Join(n.data, "admin.token")}
}

// start runs the node and returns once it serves.
func (n *node) start(ctx context.Context, args ...string) (err error) {
	n.Node, err = program.Serve(ctx, program.Command{
		Args: slices.Concat(n.under, []string{n.program, "node", "--data-dir", n.data,
			"--rpc-addr", fmt.Sprintf("127.0.0.1:%d", n.port), "--admin-addr", fmt.Sprintf("127.0.0.1:%d", n.port+1)}, args),
		Log: filepath.Join(n.dir, n.name+".log"),
	}, filepath.Join(n.dir, n.name+".json"))
	return err
}

// stop ends the node with a signal and returns when it is gone. It may be gone already: some causes end it.
func (n *node) stop(signal os.Signal) error {
	if n.Node == nil {
		return nil
	}
	defer func() { n.Node = nil }()
	return n.End(signal)
}

// every calls f until it is done or fails, or ctx ends.
func every(ctx context.Context, interval time.Duration, f func() (done bool, err error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
