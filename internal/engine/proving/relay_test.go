package proving

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// TestKeepsProofsOfOthers takes the proofs that another node made: each is verified on this node's own blocks.
func TestKeepsProofsOfOthers(t *testing.T) {
	n := newNode(t)
	for range 3 {
		n.build(t, 1)
	}
	prover, maker := newTestProver(t), NewQueue(n.Store(), testBits)
	bundles := make(map[types.Height][]byte)
	for h := types.Height(1); h <= 3; h++ {
		task, err := maker.task(h)
		must(t, err)
		proof, err := prover.Prove(task)
		must(t, err)
		bundles[h] = blockproof.Bundle{Parent: task.Parent, Header: task.Header, Accesses: task.Accesses, Proof: proof}.Encode()
	}
	relaying := newNodeThat(t, 0)
	for h := types.Height(1); h <= 3; h++ {
		block, err := n.Store().Block(h)
		must(t, err)
		received, err := ledger.Receive(block.Encode())
		must(t, err)
		_, err = relaying.Import(received)
		must(t, err)
	}
	q := NewQueue(relaying.Store(), testBits)
	requireStatus(t, q, 2, NotStored, 0)
	first := q.NextToRelay(0)
	changed := q.Changed()
	q.Await(&first)
	select {
	case <-changed:
	default:
		t.Error("nobody is told that proofs are to come")
	}
	requireStatus(t, q, 3, Queued, 2)
	if lag, err := q.Lag(); err != nil || lag != 3 || first != 1 {
		t.Errorf("lag %d, %v, from block %d on", lag, err, first)
	}
	if err := q.Keep(1, bundles[2]); !errors.Is(err, blockproof.ErrProof) {
		t.Errorf("another block's proof: %v", err)
	}
	if err := q.Keep(1, bundles[1][:100]); err == nil {
		t.Error("a cut bundle is kept")
	}
	if _, err := q.Bundle(1); err == nil {
		t.Error("there is a proof")
	}
	must(t, q.Keep(1, bundles[1]))
	requireStatus(t, q, 1, Proven, 0)
	if next := q.NextToRelay(first); next != 2 || q.Proven() != 1 {
		t.Errorf("the next is %d, %d were kept", next, q.Proven())
	}
	if weak := NewQueue(relaying.Store(), 128); !errors.Is(weak.Keep(2, bundles[2]), blockproof.ErrProof) {
		t.Error("a proof of fewer bits is kept")
	}
	q.Await(nil)
	requireStatus(t, q, 3, NotStored, 0)
}
