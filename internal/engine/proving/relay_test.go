package proving

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// prove makes the bundles of a range of blocks.
func (n *node) prove(t *testing.T, from, to types.Height) map[types.Height][]byte {
	t.Helper()
	prover, maker := newTestProver(t), NewQueue(n.Store(), testBits)
	bundles := make(map[types.Height][]byte)
	for h := from; h <= to; h++ {
		task := taskOf(t, maker, h)
		proof, err := prover.Prove(task)
		must(t, err)
		bundles[h] = blockproof.Bundle{
			Parent: task.Parent, Header: task.Header, Accesses: task.Accesses, Proof: proof,
		}.Encode()
	}
	return bundles
}

// follow imports another node's blocks.
func (n *node) follow(t *testing.T, other *node, from, to types.Height) {
	t.Helper()
	for h := from; h <= to; h++ {
		block, err := other.Store().Block(h)
		must(t, err)
		received, err := ledger.Receive(types.Regtest, block.Encode())
		must(t, err)
		_, err = n.Import(received)
		must(t, err)
	}
}

// restored is a node that begins with the newest state of another.
func restored(t *testing.T, other *node) *node {
	t.Helper()
	st, err := other.Store().StateAt(other.Store().Head().Header.Height)
	must(t, err)
	defer func() { must(t, st.Close()) }()
	store := testchain.Store(t, chain.Options{SpentWitnesses: true})
	r, err := store.Restore()
	must(t, err)
	must(t, st.Entries(r.PutState))
	zero, err := other.Store().Header(0)
	must(t, err)
	entry, err := st.Entry()
	must(t, err)
	genesis := other.Store().Genesis()
	must(t, r.Finish(genesis, zero, entry))
	l, err := ledger.Open(store, &genesis, nil, nil)
	must(t, err)
	return &node{&testchain.Chain{Ledger: l}}
}

// TestKeepsProofsAfterASnapshot: a node that begins with a snapshot's block, whose parent it lacks, accepts the proofs
// of the blocks after it.
func TestKeepsProofsAfterASnapshot(t *testing.T) {
	n := newNode(t)
	for range 2 {
		n.Extend(t, 1)
	}
	relaying := restored(t, n)
	n.Extend(t, 1)
	bundles := n.prove(t, 2, 3)
	relaying.follow(t, n, 3, 3)
	q := NewQueue(relaying.Store(), testBits)
	if err := q.Keep(2, bundles[2]); !errors.Is(err, chain.ErrPruned) {
		t.Errorf("a block without its parent: error %v, want %v", err, chain.ErrPruned)
	}
	first, err := q.NextToRelay(0)
	if err != nil || first != 3 {
		t.Fatalf("the first block to ask for is %d, want 3, error %v", first, err)
	}
	q.Await(&first)
	requireStatus(t, q, 2, NotStored, 0)
	requireStatus(t, q, 3, Queued, 0)
	must(t, q.Keep(first, bundles[first]))
	requireStatus(t, q, 3, Proven, 0)
	if _, err := q.Bundle(3); err != nil {
		t.Error(err)
	}
	must(t, relaying.Store().Close())
	if _, err := q.NextToRelay(0); !errors.Is(err, chain.ErrClosed) {
		t.Errorf("of a store that is closed: error %v, want %v", err, chain.ErrClosed)
	}
}

// TestKeepsProofsOfOthers takes the proofs that another node made, and verifies each on this node's own blocks.
func TestKeepsProofsOfOthers(t *testing.T) {
	n := newNode(t)
	for range 3 {
		n.Extend(t, 1)
	}
	bundles := n.prove(t, 1, 3)
	relaying := newNodeThat(t, 0)
	relaying.follow(t, n, 1, 3)
	q := NewQueue(relaying.Store(), testBits)
	requireStatus(t, q, 2, NotStored, 0)
	first, err := q.NextToRelay(0)
	must(t, err)
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
		t.Errorf("another block's proof: error %v, want %v", err, blockproof.ErrProof)
	}
	if err := q.Keep(1, bundles[1][:100]); !errors.Is(err, blockproof.ErrProof) {
		t.Errorf("a cut bundle: error %v, want %v", err, blockproof.ErrProof)
	}
	if _, err := q.Bundle(1); err == nil {
		t.Error("there is a proof")
	}
	must(t, q.Keep(1, bundles[1]))
	requireStatus(t, q, 1, Proven, 0)
	if next, err := q.NextToRelay(first); err != nil || next != 2 || q.Proven() != 1 {
		t.Errorf("the next is %d, %v, %d were kept", next, err, q.Proven())
	}
	if weak := NewQueue(relaying.Store(), 128); !errors.Is(weak.Keep(2, bundles[2]), blockproof.ErrProof) {
		t.Error("a proof of fewer bits is kept")
	}
	q.Await(nil)
	requireStatus(t, q, 3, NotStored, 0)
}
