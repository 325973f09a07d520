package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// startNode runs a replica without an upstream over a data directory until it serves. It writes a file to dir. A
// primary would ask for the sign state of its key, which the measurements do not write.
func startNode(ctx context.Context, binary, dataDir, dir string) (*program.Node, error) {
	return program.Serve(ctx, program.Command{Args: []string{
		binary, "node", "--data-dir", dataDir, "--mode", "replica", "--upstream", "http://127.0.0.1:1",
		"--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
	}}, filepath.Join(dir, "ready.json"))
}

// memoryAtRest is the resident memory of a node over a data directory once it serves.
func memoryAtRest(ctx context.Context, binary, dataDir, dir string) (string, error) {
	n, err := startNode(ctx, binary, dataDir, dir)
	if err != nil {
		return "", err
	}
	memory, err := n.Resident()
	text := fmt.Sprintf("%d kB", memory>>10)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = "not known: this system has no /proc", nil
	}
	return text, errors.Join(err, n.Stop())
}
