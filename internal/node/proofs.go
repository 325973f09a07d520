package node

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// Proofs is what a node does for the proofs of its blocks; how many it keeps is its directory's option.
type Proofs struct {
	Bits int // that a proof has at least

	// Relay has a node that follows another take the proofs of its blocks from there.
	Relay bool

	// Prove, unless nil, runs a prover for the queue that the admin address at url serves, until ctx ends.
	Prove func(ctx context.Context, url string) error
}

// restartProver is how long a node waits before it starts a prover again that has ended.
const restartProver = 5 * time.Second

// prove keeps a prover running until ctx ends.
func (n *Node) prove(ctx context.Context) error {
	if n.config.Proofs.Prove == nil {
		return nil
	}
	for {
		err := n.config.Proofs.Prove(ctx, n.AdminURL())
		if ctx.Err() != nil {
			return nil
		}
		n.config.Log.Warn("the prover ended and is started again", "error", err)
		select {
		case <-time.After(restartProver):
		case <-ctx.Done():
			return nil
		}
	}
}

// relay takes proofs from upstreams until ctx ends.
func (n *Node) relay(ctx context.Context) error {
	if !n.config.Proofs.Relay || n.replica == nil {
		return nil
	}
	err := n.replica.RelayProofs(ctx, n.queue)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// proofMetrics are of what waits for a proof. A store that cannot be read shows in other metrics.
func proofMetrics() []telemetry.Metric[*Node] {
	return []telemetry.Metric[*Node]{
		telemetry.Counter("proofs_total", "Proofs of blocks that were verified and stored.", func(n *Node) uint64 { return n.queue.Proven() }),
		telemetry.Gauge("proof_lag_blocks", "Blocks from the oldest that waits for its proof to the head; 0 where none waits.", func(n *Node) uint64 {
			lag, err := n.queue.Lag()
			if err != nil && !errors.Is(err, chain.ErrClosed) {
				n.config.Log.Warn("blocks without a proof cannot be counted", "error", err)
			}
			return lag
		}),
		telemetry.Gauge("proof_witness_bytes", "Size of the witnesses of blocks that wait for a proof.", func(n *Node) uint64 {
			bytes, err := n.store.WitnessBytes()
			if err != nil && !errors.Is(err, chain.ErrClosed) {
				n.config.Log.Warn("witnesses cannot be counted", "error", err)
			}
			return bytes
		}),
	}
}
