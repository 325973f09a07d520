package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// node is a process of `cairn node`, which may be stopped and started again.
type node struct {
	program   string
	name      string   // of its log and its ready file
	dir, data string   // where those are, and its data directory
	port      int      // of its JSON-RPC; its metrics are at the next one
	under     []string // a command that runs it

	command *exec.Cmd
	ended   chan error // how it ended
}

func (n *node) url() string { return fmt.Sprintf("http://127.0.0.1:%d", n.port) }

// start runs the node and returns once it serves.
func (n *node) start(ctx context.Context, args ...string) error {
	ready := filepath.Join(n.dir, n.name+".json")
	if err := os.RemoveAll(ready); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(n.dir, n.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has it
	command := append(append([]string{}, n.under...), n.program, "node", "--data-dir", n.data, "--ready-file", ready,
		"--rpc-addr", fmt.Sprintf("127.0.0.1:%d", n.port), "--admin-addr", fmt.Sprintf("127.0.0.1:%d", n.port+1))
	n.command = exec.Command(command[0], append(command[1:], args...)...)
	n.command.Stdout, n.command.Stderr = log, log
	if err := n.command.Start(); err != nil {
		n.command = nil
		return err
	}
	n.ended = make(chan error, 1)
	go func(command *exec.Cmd, ended chan error) { ended <- command.Wait() }(n.command, n.ended)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return every(ctx, 50*time.Millisecond, func() (bool, error) {
		select {
		case err := <-n.ended:
			n.command = nil
			return false, fmt.Errorf("the node ended, see %s: %w", log.Name(), err)
		default:
		}
		_, err := os.Stat(ready)
		return err == nil, nil
	})
}

// stop ends the node with a signal and returns when it is gone. It may be gone already: some causes end it.
func (n *node) stop(signal os.Signal) error {
	if n.command == nil {
		return nil
	}
	if err := n.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-n.ended
	n.command = nil
	return nil
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
