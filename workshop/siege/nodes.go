package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	chainID = 4244
	balance = "10000000" // coins that each account has at genesis
)

// world is a producer, its replica, and their data directories.
type world struct {
	settings
	dir   string
	nodes []*node // the producer, then the replica
}

type node struct {
	*program.Node
	client *client.Client
}

// found makes the network, whose genesis funds all accounts.
func (w *world) found(ctx context.Context) error {
	arguments := []string{
		"init", w.path("producer"), "--network", string(types.Regtest), "--chain-id", strconv.Itoa(chainID),
	}
	for i := range attackers + 1 {
		arguments = append(arguments, "--alloc", signerOf(i).Account().String()+"="+balance)
	}
	if output, err := exec.CommandContext(ctx, w.binary, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("make a network: %w\n%s", err, output)
	}
	return nil
}

// start starts both nodes, on what their directories have.
func (w *world) start(ctx context.Context) error {
	w.nodes = nil
	if err := w.serve(ctx, "producer", "--block-time", "1s", "--rate-limit", "0"); err != nil {
		return err
	}
	return w.serve(ctx, "replica", "--mode", "replica", "--genesis", w.path("producer/genesis.json"),
		"--upstream", w.nodes[0].RPC, "--rate-limit", "0")
}

func (w *world) serve(ctx context.Context, name string, settings ...string) error {
	served, err := program.Serve(ctx, program.Command{
		Args: append([]string{
			w.binary, "node", "--data-dir", w.path(name), "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
		}, settings...),
		Log: w.path(name + ".log"),
	}, w.path(name+"-ready.json"))
	if err != nil {
		return fmt.Errorf("the %s: %w", name, err)
	}
	c, err := client.New(served.RPC, client.WithRetry(0))
	if err != nil {
		return errors.Join(err, served.End(syscall.SIGTERM))
	}
	w.nodes = append(w.nodes, &node{served, c})
	return nil
}

// kill ends both nodes at once, as a crash does.
func (w *world) kill() {
	for _, n := range w.nodes {
		n.client.Close()
		n.Kill()
	}
}

// stop ends both nodes as an operator does.
func (w *world) stop() (err error) {
	for _, n := range w.nodes {
		n.client.Close()
		err = errors.Join(err, n.Stop())
	}
	return err
}

// agree waits until the replica has the block of a height, or if that is 0 the producer's head, and compares theirs.
func (w *world) agree(ctx context.Context, height types.Height) (types.Height, error) {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	if height == 0 {
		head, err := w.nodes[0].client.BlockNumber(ctx)
		if err != nil {
			return 0, err
		}
		height = head
	}
	for {
		has, err := w.nodes[1].client.BlockNumber(ctx)
		if err != nil {
			return 0, err
		}
		if has >= height {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return 0, fmt.Errorf("the replica has %d blocks, the producer %d: %w", has, height, ctx.Err())
		}
	}
	var hashes [2]types.BlockHash
	for i, n := range w.nodes {
		block, err := n.client.BlockByNumber(ctx, api.AtHeight(height), false)
		if err != nil {
			return 0, err
		}
		hashes[i] = block.Hash
	}
	if hashes[0] != hashes[1] {
		return 0, fmt.Errorf("block %d is %s here and %s at the replica", height, hashes[0], hashes[1])
	}
	return height, nil
}
