package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// stage is a new chain with a running node, and an account that has coins.
type stage struct {
	settings
	cause
	dir, data string // of the stage, and of the node
	mounted   bool
	treasury  crypto.PrivateKey
	client    *client.Client

	command *exec.Cmd
	ended   chan error // how the node ended
}

func newStage(ctx context.Context, s settings, c cause, dir string) (st *stage, err error) {
	st = &stage{settings: s, cause: c, dir: dir, data: filepath.Join(dir, "disk", "chain")}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	if err := os.MkdirAll(filepath.Join(dir, "disk"), 0o700); err != nil {
		return st, err
	}
	if c.diskMiB > 0 {
		if err := st.mount(ctx); err != nil {
			return st, err
		}
	}
	if st.treasury, err = crypto.GenerateKey(rand.Reader); err != nil {
		return st, err
	}
	if err := st.cairn(ctx, "init", st.data, "--alloc", types.Account(st.treasury.PublicKey()).String()+"=1000000"); err != nil {
		return st, err
	}
	if st.client, err = client.New(st.url()); err != nil {
		return st, err
	}
	return st, st.start(ctx, c.args...)
}

func (st *stage) url() string { return fmt.Sprintf("http://127.0.0.1:%d", st.port) }

// mount gives the node a disk of its own: an ext4 in a file.
func (st *stage) mount(ctx context.Context) error {
	image := filepath.Join(st.dir, "disk.img")
	for _, command := range [][]string{
		{"truncate", "--size", fmt.Sprintf("%dM", st.diskMiB), image},
		{"mkfs.ext4", "-q", "-m", "0", image},
		{"mount", "-o", "loop", image, filepath.Join(st.dir, "disk")},
	} {
		if err := execute(ctx, command...); err != nil {
			return err
		}
	}
	st.mounted = true
	return nil
}

// execute runs a command; what it printed is part of its error.
func execute(ctx context.Context, command ...string) error {
	output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command[0], err, output)
	}
	return nil
}

// cairn runs one of the program's commands.
func (st *stage) cairn(ctx context.Context, args ...string) error {
	return execute(ctx, append([]string{st.program}, args...)...)
}

// start runs the node and returns once it serves.
func (st *stage) start(ctx context.Context, args ...string) error {
	ready := filepath.Join(st.dir, "ready.json")
	if err := os.RemoveAll(ready); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(st.dir, "node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has it
	command := append(append([]string{}, st.under...), st.program, "node", "--data-dir", st.data, "--ready-file", ready,
		"--rpc-addr", fmt.Sprintf("127.0.0.1:%d", st.port), "--admin-addr", fmt.Sprintf("127.0.0.1:%d", st.port+1))
	st.command = exec.Command(command[0], append(command[1:], args...)...)
	st.command.Stdout, st.command.Stderr = log, log
	if err := st.command.Start(); err != nil {
		return err
	}
	st.ended = make(chan error, 1)
	go func(command *exec.Cmd, ended chan error) { ended <- command.Wait() }(st.command, st.ended)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return every(ctx, 50*time.Millisecond, func() (bool, error) {
		select {
		case err := <-st.ended:
			st.command = nil
			return false, fmt.Errorf("the node ended, see %s: %w", log.Name(), err)
		default:
		}
		_, err := os.Stat(ready)
		return err == nil, nil
	})
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

// stop ends the node with a signal and returns when it is gone. It may be gone already: some causes end it.
func (st *stage) stop(signal os.Signal) error {
	if st.command == nil {
		return nil
	}
	if err := st.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-st.ended
	st.command = nil
	return nil
}

// close ends the node and takes its disk away.
func (st *stage) close() error {
	if st.client != nil {
		st.client.Close()
	}
	err := st.stop(os.Interrupt)
	if st.mounted {
		err = errors.Join(err, execute(context.Background(), "umount", filepath.Join(st.dir, "disk")), os.Remove(filepath.Join(st.dir, "disk.img")))
	}
	return err
}
