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

// Proofs is what a node does for the proofs of its blocks; how many it keeps is its directory's option.
type Proofs struct {
	Bits int // that a proof has at least

	// Lengths are the binary logarithms of the lengths of ranges that get a proof together, ascending. Without one a
	// replica without state takes each block by its own proof.
	Lengths []int

	// Relay has a node take the proofs of its blocks from those that it follows, while it does.
	Relay bool

	// Prove, unless nil, runs a prover for the queue that the node serves, until ctx ends. With Relay it
	// runs while the node makes the blocks.
	Prove func(ctx context.Context, node admin.Client) error

	// Off says that the node's blocks are to have no proofs.
	Off bool
}

// restartProver is how long a node waits before it starts a prover again that has ended, proverPause the time between
// two looks whether the node makes the blocks now.
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
		over := func() bool { return proofs.Relay && n.role.Follows() } // others prove while it follows
		if over() {
			_ = pause.For(ctx, proverPause) // the loop looks at the context
			continue
		}
		err := role.RunUntil(ctx, func(ctx context.Context) error { return proofs.Prove(ctx, n.Admin()) }, over)
		if ctx.Err() != nil || over() {
			continue
		}
		n.config.Log.Warn("the prover ended and is started again", "error", err)
		_ = pause.For(ctx, restartProver) // as above
	}
	return nil
}

// proofMetrics are of what waits for a proof. A store that cannot be read shows in other metrics.
func proofMetrics() []telemetry.Metric[*Node] {
	return []telemetry.Metric[*Node]{
		telemetry.Counter("proofs_total", "Proofs of blocks that were verified and stored.",
			func(n *Node) uint64 { return n.queue.Proven() }),
		telemetry.Counter("proofs_made_total", "Those of them that provers of this node made.",
			func(n *Node) uint64 { return n.queue.Made() }),
		telemetry.Counter("range_proofs_total", "Proofs of ranges of blocks that were verified and stored.", func(
			n *Node,
		) uint64 {
			accepted, _ := n.queue.Ranges()
			return accepted
		}),
		telemetry.Counter("range_proofs_made_total", "Those of them that this node's provers made.", func(n *Node) uint64 {
			_, made := n.queue.Ranges()
			return made
		}),
		telemetry.Gauge("proof_wanted", "1 where blocks are to have proofs, 0 with --prove off.",
			func(n *Node) int { return oneIf(!n.config.Proofs.Off) }),
		telemetry.KnownGauge("proof_lag_blocks", "Blocks after the newest that has its proof here.", func(
			n *Node,
		) (uint64, bool) {
			lag, err := n.queue.Lag()
			if err != nil && !errors.Is(err, chain.ErrClosed) {
				n.config.Log.Warn("blocks without a proof cannot be counted", "error", err)
			}
			return lag, err == nil
		}),
		telemetry.KnownGauge("proof_witness_bytes", "Size of the witnesses that wait for proofs.", func(
			n *Node,
		) (uint64, bool) {
			bytes, err := n.store.WitnessBytes()
			if err != nil && !errors.Is(err, chain.ErrClosed) {
				n.config.Log.Warn("witnesses cannot be counted", "error", err)
			}
			return bytes, err == nil
		}),
	}
}
