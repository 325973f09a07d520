package main

import (
	"context"
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

// memoryAtRest runs a node over a data directory and returns its resident memory once it serves, as Linux tells it.
func memoryAtRest(ctx context.Context, binary, dataDir, dir string) (memory string, err error) {
	ready := filepath.Join(dir, "ready.json")
	command := exec.Command(binary, "node", "--data-dir", dataDir, "--block-time", "1h", "--rpc-addr", "127.0.0.1:0",
		"--admin-addr", "127.0.0.1:0", "--ready-file", ready)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case err := <-ended:
			return "", fmt.Errorf("the node ended before it served: %w", err)
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), command.Process.Kill(), <-ended)
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", command.Process.Pid))
	if err := errors.Join(command.Process.Signal(syscall.SIGTERM), <-ended); err != nil {
		return "", err
	}
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
