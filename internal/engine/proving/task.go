// Package proving makes the proofs of blocks, beside the chain and never in its way. Blocks queue with their witnesses,
// and processes of their own take tasks from the queue. Each proof is verified before it is kept.
package proving

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/prover"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// Task is what the proof of a block is made of.
type Task struct {
	Parent, Header types.SignedHeader
	Accesses       []types.Access
	Witness        tree.Witness
	// Hurry asks for the proof that is made soonest, not the smallest: other blocks wait.
	Hurry bool
}

// MaxTaskBytes bounds an encoded task: at most so much is read of one.
const MaxTaskBytes = 1 << 30

// Encode is bincode { hurry: bool, bundle: Vec<u8>, witness: Vec<u8> } of the block's bundle without a proof, and the
// witness.
func (t *Task) Encode() []byte {
	bundle := blockproof.Bundle{Parent: t.Parent, Header: t.Header, Accesses: t.Accesses}
	return encodeTask(bundle, t.Witness.Encode(), t.Hurry)
}

// encodeTask is [Task.Encode] of a witness that is encoded already.
func encodeTask(b blockproof.Bundle, witness []byte, hurry bool) []byte {
	bundle := b.Encode()
	e := codec.NewEncoder(17 + len(bundle) + len(witness))
	e.Option(hurry) // a bool's byte is that of an option without a value
	e.Bytes(bundle)
	e.Bytes(witness)
	return e.Data()
}

// DecodeTask decodes what Encode gives. It keeps nothing of b: most of that is the witness, which is decoded by then.
func DecodeTask(b []byte) (*Task, error) {
	d := codec.NewDecoder(b)
	hurry, encodedBundle, encodedWitness := d.Option(), d.Bytes(MaxTaskBytes), d.Bytes(MaxTaskBytes)
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	bundle, err := blockproof.DecodeBundle(bytes.Clone(encodedBundle))
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	witness, err := tree.DecodeWitness(encodedWitness)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return &Task{
		Parent: bundle.Parent, Header: bundle.Header, Accesses: bundle.Accesses, Witness: witness, Hurry: hurry,
	}, nil
}

// Prover makes proofs one after the other, and keeps its memory from one to the next.
type Prover struct {
	prover   *prover.Prover
	scratch  blockproof.Scratch
	bits     int
	parallel blockproof.Parallel
}

// NewProver returns a prover of proofs with so many proven bits, one of those in stark.Levels.
func NewProver(proven int, parallel blockproof.Parallel) (*Prover, error) {
	if stark.QuickLevelOf(proven) < 0 {
		return nil, fmt.Errorf("there are no proofs of %d bits", proven)
	}
	return &Prover{prover: prover.New(blockproof.Circuit()), bits: proven, parallel: parallel}, nil
}

// Bits are the proven bits of its proofs.
func (p *Prover) Bits() int { return p.bits }

// Prove makes the proof of a task. Its errors are of the task: the witness leads to other roots, or the headers do not
// belong together.
func (p *Prover) Prove(t *Task) ([]byte, error) {
	statement, err := blockproof.NewStatement(&t.Parent.Header, &t.Header.Header, t.Accesses)
	if err != nil {
		return nil, err
	}
	return p.prove(statement, t.Accesses, t.Witness, t.Hurry)
}

// quickAccesses is from how many accesses on a range is proven in the way that takes the least time. The smallest proof
// would take more than half as long as those of all its blocks.
const quickAccesses = 1 << 12

// ProveRange makes the proof of a range, whose own it sets, from the witness of its list in the state before it. Errors
// are as those of [Prover.Prove].
func (p *Prover) ProveRange(r *blockproof.Range, w tree.Witness) error {
	statement, err := blockproof.NewRangeStatement(r.Headers, r.Accesses)
	if err != nil {
		return err
	}
	r.Proof, err = p.prove(statement, r.Accesses, w, len(r.Accesses) >= quickAccesses)
	return err
}

func (p *Prover) prove(
	statement blockproof.Statement, accesses []types.Access, w tree.Witness, hurry bool,
) ([]byte, error) {
	var segments []blockproof.Proven
	trace := blockproof.Trace
	if hurry {
		trace = blockproof.QuickTrace
	}
	for segment, err := range trace(statement, accesses, w, p.parallel) {
		if err != nil {
			return nil, err
		}
		columns := segment.Columns(&p.scratch, p.parallel)
		level := stark.LevelOf(p.bits, bits.TrailingZeros(uint(len(columns[0]))))
		if hurry {
			level = stark.QuickLevelOf(p.bits)
		}
		argument, err := p.prover.Prove(&segment.Instance, level, columns, p.parallel)
		if err != nil {
			return nil, fmt.Errorf("segment %d: %w", len(segments), err)
		}
		segments = append(segments, segment.Proven(argument))
	}
	return blockproof.EncodeProof(segments), nil
}
