package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// serveTime is how long a node may take to serve.
const serveTime = 5 * time.Minute

// running is a node that serves and makes no blocks.
type running struct {
	RPC     string `json:"rpc"` // the URL of its JSON-RPC
	process *os.Process
	ended   chan error
}

// startNode runs a node over a data directory until it serves. It writes a file to dir.
func startNode(ctx context.Context, binary, dataDir, dir string) (n *running, err error) {
	ready := filepath.Join(dir, "ready.json")
	command := exec.Command(binary, "node", "--data-dir", dataDir, "--block-time", "1h", "--rpc-addr", "127.0.0.1:0",
		"--admin-addr", "127.0.0.1:0", "--ready-file", ready)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	n = &running{process: command.Process, ended: make(chan error, 1)}
	go func() { n.ended <- command.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	for {
		text, err := os.ReadFile(ready)
		if err == nil {
			err = errors.Join(json.Unmarshal(text, n), os.Remove(ready))
			if err != nil {
				return nil, errors.Join(err, n.stop())
			}
			return n, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case err := <-n.ended:
			return nil, fmt.Errorf("the node ended before it served: %w", err)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), n.process.Kill(), <-n.ended)
		}
	}
}

// stop ends the node.
func (n *running) stop() error {
	return errors.Join(n.process.Signal(syscall.SIGTERM), <-n.ended)
}

// memory is the node's resident memory, as Linux tells it.
func (n *running) memory() (string, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return "not known: this system has no /proc", nil
	}
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", errors.New("the system does not tell the node's memory")
}

// memoryAtRest is the resident memory of a node over a data directory once it serves.
func memoryAtRest(ctx context.Context, binary, dataDir, dir string) (string, error) {
	n, err := startNode(ctx, binary, dataDir, dir)
	if err != nil {
		return "", err
	}
	memory, err := n.memory()
	return memory, errors.Join(err, n.stop())
}
