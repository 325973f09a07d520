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

// node is a `cairn node` that can be stopped and restarted.
type node struct {
	*program.Node // nil while it is stopped

	program   string
	name      string   // of its log and its ready file
	dir, data string   // directory of these files; data directory
	port      int      // JSON-RPC port; metrics are at the next one
	under     []string // a command that runs it
}

func (n *node) url() string   { return fmt.Sprintf("http://127.0.0.1:%d", n.port) }
func (n *node) admin() string { return fmt.Sprintf("http://127.0.0.1:%d", n.port+1) }

// adminFlags returns the flags for commands that change something through the node's admin address.
func (n *node) adminFlags() []string {
	return []string{"--admin", n.admin(), "--admin-token-file", filepath.Join(n.data, "admin.token")}
}

// start starts the node and returns once it serves.
func (n *node) start(ctx context.Context, args ...string) (err error) {
	n.Node, err = program.Serve(ctx, program.Command{
		Args: slices.Concat(n.under, []string{n.program, "node", "--data-dir", n.data,
			"--rpc-addr", fmt.Sprintf("127.0.0.1:%d", n.port), "--admin-addr", fmt.Sprintf("127.0.0.1:%d", n.port+1)}, args),
		Log: filepath.Join(n.dir, n.name+".log"),
	}, filepath.Join(n.dir, n.name+".json"))
	return err
}

// stop sends the node a signal and returns when it has ended. Some causes have already ended it.
func (n *node) stop(signal os.Signal) error {
	if n.Node == nil {
		return nil
	}
	defer func() { n.Node = nil }()
	return n.End(signal)
}

// every calls f in each interval until it is done or fails, or ctx ends.
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
