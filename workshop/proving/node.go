package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// pollTime is a polling interval.
const pollTime = 100 * time.Millisecond

// fundingTime is the block time while the senders are funded.
const fundingTime = 100 * time.Millisecond

// node is a development chain, with a separate prover unless it proves by itself.
type node struct {
	*program.Node
	prover *program.Process // nil unless proofs are made by a separate process
	dir    string
}

// startNode starts a node, and a separate prover if the mode says so.
func startNode(ctx context.Context, s settings, mode string) (n *node, err error) {
	dir, err := os.MkdirTemp(s.dir, "cairn-proving-")
	if err != nil {
		return nil, err
	}
	bits := strconv.Itoa(s.proofBits)
	served, err := program.Serve(ctx, program.Command{Args: []string{
		s.binary, "dev", "--data-dir", filepath.Join(dir, "chain"), "--block-time", fundingTime.String(), "--prove", mode,
		"--proof-bits", bits, "--rpc-addr", s.rpcAddr, "--admin-addr", s.adminAddr,
	}}, filepath.Join(dir, "ready.json"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	n = &node{Node: served, dir: dir}
	if mode == elsewhere {
		n.prover, err = program.Start(program.Command{
			Args: append([]string{s.binary, "prove", "--proof-bits", bits, "--quiet"}, n.AdminFlags()...),
		})
		if err != nil {
			return nil, errors.Join(err, n.stop())
		}
	}
	return n, nil
}

// stop stops node and prover, and removes the chain.
func (n *node) stop() (err error) {
	if n.prover != nil {
		err = n.prover.Stop()
	}
	return errors.Join(err, n.Stop(), os.RemoveAll(n.dir))
}

// sample is a reading of the node's metrics and of the prover's processor time.
type sample struct {
	lag, proofs, blocks float64 // blocks that wait for a proof; proofs and blocks made since the start
	nodeCPU, proverCPU  float64 // seconds since the start
}

// sample reads the node's metrics and the prover's processor time.
func (n *node) sample(ctx context.Context) (s sample, err error) {
	const (
		lag, proofs = "cairn_proof_lag_blocks", "cairn_proofs_total"
		blocks, cpu = "cairn_block_duration_seconds_count", "process_cpu_seconds_total"
	)
	values, err := n.Metrics(ctx, lag, proofs, blocks, cpu)
	if err != nil {
		return s, err
	}
	proving := n.ChildrenCPU // of a prover started by the node
	if n.prover != nil {
		proving = n.prover.CPU
	}
	used, err := proving()
	return sample{values[lag], values[proofs], values[blocks], values[cpu], used.Seconds()}, err
}

// lags returns the number of blocks without a proof, each second until ctx ends.
func (n *node) lags(ctx context.Context) (lags []float64) {
	for {
		if s, err := n.sample(ctx); err == nil { // the next sample makes up for a failure
			lags = append(lags, s.lag)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return lags
		}
	}
}
