package proving

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// node is a ledger with blocks that await proof.
type node struct{ *testchain.Chain }

func newNode(t *testing.T) *node { return newNodeThat(t, 1<<20) }

// newNodeThat returns a node that keeps at most the given number of bytes of witnesses.
func newNodeThat(t *testing.T, witnessBytes uint64) *node {
	t.Helper()
	return &node{testchain.New(t, chain.Options{WitnessBytes: witnessBytes, SpentWitnesses: true})}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func inOrder(count int, f func(i int)) {
	for i := range count {
		f(i)
	}
}

const testBits = 100

func newTestProver(t *testing.T) *Prover {
	t.Helper()
	p, err := NewProver(testBits, inOrder)
	must(t, err)
	return p
}

func requireStatus(t *testing.T, q *Queue, height types.Height, want State, wantPosition uint64) {
	t.Helper()
	if state, position, err := q.Status(height); err != nil || state != want || position != wantPosition {
		t.Errorf("block %d: %s at position %d, %v; want %s at %d", height, state, position, err, want, wantPosition)
	}
}

// taskOf returns the input for proving a block.
func taskOf(t *testing.T, q *Queue, height types.Height) *Task {
	t.Helper()
	encoded, err := q.task(height)
	must(t, err)
	task, err := DecodeTask(encoded)
	must(t, err)
	return task
}

func TestAcceptRefusesWhatDoesNotHold(t *testing.T) {
	n := newNode(t)
	n.Extend(t, 1)
	n.Extend(t, 2)
	q := NewQueue(n.Store(), testBits)
	proof, err := newTestProver(t).Prove(taskOf(t, q, 1))
	must(t, err)
	flipped := slices.Clone(proof)
	flipped[len(flipped)/2] ^= 1
	for name, c := range map[string]struct {
		height types.Height
		proof  []byte
		want   error
	}{
		"a flipped byte":  {1, flipped, blockproof.ErrProof},
		"nothing":         {1, nil, blockproof.ErrProof},
		"another block's": {2, proof, blockproof.ErrProof},
		"no such block":   {3, proof, ErrUnwanted},
		"genesis":         {0, proof, ErrUnwanted},
	} {
		if err := q.Accept(blockproof.Span(c.height), c.proof); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	changed := q.Changed()
	must(t, q.Accept(1, proof))
	<-changed
	if err := q.Accept(1, proof); !errors.Is(err, ErrUnwanted) {
		t.Errorf("a second proof: error %v, want %v", err, ErrUnwanted)
	}
	if _, err := q.Bundle(2); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("a bundle without a proof: error %v, want %v", err, chain.ErrNotFound)
	}
	if strict := NewQueue(n.Store(), 128); strict.Accept(2, proof) == nil {
		t.Error("a proof of too few bits is accepted")
	}
}

// TestLeases hands each block to one worker at a time, to another one if that one does not return, and to none if it
// cannot be proven.
func TestLeases(t *testing.T) {
	n := newNode(t)
	n.Extend(t, 1)
	n.Extend(t, 1)
	q := NewQueue(n.Store(), testBits)
	now := time.Unix(1_000, 0)
	q.now = func() time.Time { return now }
	next := func(want types.Height) {
		t.Helper()
		got, encoded, err := q.Next(context.Background())
		must(t, err)
		task, err := DecodeTask(encoded)
		must(t, err)
		if got.Last() != want || task.Header.Header.Height != want {
			t.Errorf("block %d is next, with the task of block %d, want %d", got, task.Header.Header.Height, want)
		}
	}
	next(1)
	requireStatus(t, q, 1, Proving, 0)
	next(2)
	q.Release(1)
	requireStatus(t, q, 1, Queued, 0)
	next(1)
	now = now.Add(leaseTime)
	next(1)
	q.Refuse(1)
	requireStatus(t, q, 1, NotStored, 0)
	next(2)
	ended, stop := context.WithCancel(context.Background())
	stop()
	if _, _, err := q.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a queue of taken blocks: error %v, want %v", err, context.Canceled)
	}
}

// TestStatusWhileProofsCome: while a block's proof arrives, the status must not skip that block, or subscribers would
// be notified only of the next one.
func TestStatusWhileProofsCome(t *testing.T) {
	n := newNode(t)
	const blocks = 16
	for range blocks {
		n.Extend(t, 1)
	}
	q, p := NewQueue(n.Store(), testBits), newTestProver(t)
	for height := types.Height(1); height <= blocks; height++ {
		proof, err := p.Prove(taskOf(t, q, height))
		must(t, err)
		kept := make(chan error, 1)
		go func() { kept <- q.Accept(blockproof.Span(height), proof) }()
		for state := Queued; state != Proven; {
			if state, _, err = q.Status(height); err != nil || state == NotStored {
				t.Fatalf("block %d: got %s, error %v", height, state, err)
			}
		}
		must(t, <-kept)
	}
}

func TestTaskEncoding(t *testing.T) {
	n := newNode(t)
	n.Extend(t, 3)
	n.Extend(t, 1)
	encoded, err := NewQueue(n.Store(), testBits).task(2)
	must(t, err)
	if row, err := n.Store().Witness(2); err != nil || !bytes.HasSuffix(encoded, row) {
		t.Errorf("the witness of a task is not the stored one, error %v", err)
	}
	task, err := DecodeTask(encoded)
	must(t, err)
	if !bytes.Equal(task.Encode(), encoded) {
		t.Error("a task comes back as another")
	}
	for length := range encoded {
		if _, err := DecodeTask(encoded[:length]); err == nil {
			t.Fatalf("a task is decoded from %d of %d bytes", length, len(encoded))
		}
	}
	task.Witness.Digests[0][0] ^= 1
	if _, err := newTestProver(t).Prove(task); err == nil {
		t.Error("a false witness is proven")
	}
}

// TestHurry: while other blocks wait, a proof is made at the fastest level, with the same number of bits, and is
// larger.
func TestHurry(t *testing.T) {
	n := newNode(t)
	for range 2 + inTime {
		n.Extend(t, 20)
	}
	q := NewQueue(n.Store(), stark.MaxBits)
	p, err := NewProver(stark.MaxBits, inOrder)
	must(t, err)
	var sizes [3]int
	for height := types.Height(1); height <= 2; height++ {
		task := taskOf(t, q, height)
		if want := height == 1; task.Hurry != want {
			t.Errorf("block %d is in a hurry: %t, want %t", height, task.Hurry, want)
		}
		proof, err := p.Prove(task)
		must(t, err)
		must(t, q.Accept(blockproof.Span(height), proof))
		sizes[height] = len(proof)
	}
	if sizes[1] <= sizes[2] {
		t.Errorf("in a hurry %d bytes, in time %d", sizes[1], sizes[2])
	}
}

func FuzzDecodeTask(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 600))
	f.Fuzz(func(t *testing.T, b []byte) {
		if task, err := DecodeTask(b); err == nil && !bytes.Equal(task.Encode(), b) {
			t.Error("a task has two encodings")
		}
	})
}
