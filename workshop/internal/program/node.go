package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/cairn-chain/cairn/kit/loadgen"
)

// Node is a running node.
type Node struct {
	*Process `json:"-"`

	RPC   string `json:"rpc"`   // URL of its JSON-RPC
	Admin string `json:"admin"` // URL of its admin address
	Token string `json:"adminTokenFile"`
}

// Serve starts a node, with an additional argument for its ready file, and returns once it serves. It removes an old
// ready file.
func Serve(ctx context.Context, c Command, ready string) (*Node, error) {
	if err := os.RemoveAll(ready); err != nil {
		return nil, err
	}
	c.Args = slices.Concat(c.Args, []string{"--ready-file", ready})
	process, err := Start(c)
	if err != nil {
		return nil, err
	}
	n := &Node{Process: process}
	if err := process.AwaitReady(ctx, ready, n); err != nil {
		return nil, errors.Join(fmt.Errorf("the node: %w", err), process.End(syscall.SIGTERM))
	}
	return n, nil
}

// AdminFlags returns the flags for commands that use the node's admin address.
func (n *Node) AdminFlags() []string {
	return []string{"--admin", n.Admin, "--admin-token-file", n.Token}
}

// Metrics returns the node's metrics without labels, by name. It returns an error if one of names is missing.
func (n *Node) Metrics(ctx context.Context, names ...string) (map[string]float64, error) {
	return loadgen.ReadMetrics(ctx, n.Admin+"/metrics", names...)
}
