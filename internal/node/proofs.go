package node

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// Proofs configures the proofs of a node's blocks. The number of proofs to keep is an option of the directory.
type Proofs struct {
	Bits int // least proven bits of a proof

	// Lengths are the binary logarithms of the lengths of proven ranges, in ascending order. Without ranges, a replica
	// without state needs the proof of each block.
	Lengths []int

	// Relay makes a node take the proofs of its blocks from its upstreams while it follows them.
	Relay bool

	// Prove, unless nil, runs a prover for the node's queue until ctx ends. With Relay it runs only while the node
	// makes the blocks.
	Prove func(ctx context.Context, node admin.Client) error

	// Off disables the proofs of the node's blocks.
	Off bool
}

// restartProver is the pause before a failed prover is started again. proverPause is the time between two checks
// whether the node makes the blocks.
const (
	restartProver = 5 * time.Second
	proverPause   = time.Second
)

// prove keeps a prover running until ctx ends.
func (n *Node) prove(ctx context.Context) error {
	proofs := n.config.Proofs
	if proofs.Prove == nil {
		return nil
	}
	for ctx.Err() == nil {
		over := func() bool { return proofs.Relay && n.role.Follows() } // the upstreams prove while the node follows
		if over() {
			_ = pause.For(ctx, proverPause) // the loop checks the context
			continue
		}
		err := role.RunUntil(ctx, func(ctx context.Context) error { return proofs.Prove(ctx, n.Admin()) }, over)
		if ctx.Err() != nil || over() {
			continue
		}
		n.config.Log.Warn("the prover process ended: restarting it", "error", err)
		_ = pause.For(ctx, restartProver) // as above
	}
	return nil
}

// proofMetrics returns the metrics of proofs. If the store cannot be read, other metrics show it.
func proofMetrics() []telemetry.Metric[*Node] {
	return []telemetry.Metric[*Node]{
		telemetry.Counter("proofs_total", "Block proofs verified and stored.",
			func(n *Node) uint64 { return n.queue.Proven() }),
		telemetry.Counter("proofs_made_total", "Block proofs stored that were made by this node's provers.",
			func(n *Node) uint64 { return n.queue.Made() }),
		telemetry.Counter("range_proofs_total", "Range proofs verified and stored.", func(
			n *Node,
		) uint64 {
			accepted, _ := n.queue.Ranges()
			return accepted
		}),
		telemetry.Counter("range_proofs_made_total", "Range proofs stored that were made by this node's provers.", func(n *Node) uint64 {
			_, made := n.queue.Ranges()
			return made
		}),
		telemetry.Gauge("proof_wanted", "1 if blocks get proofs, 0 with --prove off.",
			func(n *Node) int { return oneIf(!n.config.Proofs.Off) }),
		telemetry.KnownGauge("proof_lag_blocks", "Number of blocks after the newest block with a stored proof "+
			"(proving lag).", func(
			n *Node,
		) (uint64, bool) {
			lag, err := n.queue.Lag()
			if err != nil && !errors.Is(err, chain.ErrClosed) {
				n.config.Log.Warn("cannot count the blocks that await proof", "error", err)
			}
			return lag, err == nil
		}),
		telemetry.KnownGauge("proof_witness_bytes", "Size of the stored witnesses that await proof.", func(
			n *Node,
		) (uint64, bool) {
			bytes, err := n.store.WitnessBytes()
			if err != nil && !errors.Is(err, chain.ErrClosed) {
				n.config.Log.Warn("cannot measure the stored witnesses", "error", err)
			}
			return bytes, err == nil
		}),
	}
}
