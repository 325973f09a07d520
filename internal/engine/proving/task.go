// Package proving makes the proofs of blocks, beside the chain and never in its way: blocks queue with their witnesses,
// processes of their own take tasks from the queue, and each proof is verified before it is kept.
package proving

import (
	"bytes"
	"fmt"

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
}

// MaxTaskBytes bounds an encoded task: at most so much is read of one.
const MaxTaskBytes = 1 << 30

// Encode is bincode { bundle: Vec<u8>, witness: Vec<u8> } of the block's bundle without a proof, and the witness.
func (t *Task) Encode() []byte {
	return encodeTask(blockproof.Bundle{Parent: t.Parent, Header: t.Header, Accesses: t.Accesses}, t.Witness.Encode())
}

// encodeTask is [Task.Encode] of a witness that is encoded already.
func encodeTask(b blockproof.Bundle, witness []byte) []byte {
	bundle := b.Encode()
	e := codec.NewEncoder(16 + len(bundle) + len(witness))
	e.Bytes(bundle)
	e.Bytes(witness)
	return e.Data()
}

// DecodeTask decodes what Encode gives. It keeps nothing of b: most of that is the witness, which is decoded by then.
func DecodeTask(b []byte) (*Task, error) {
	d := codec.NewDecoder(b)
	encodedBundle, encodedWitness := d.Bytes(MaxTaskBytes), d.Bytes(MaxTaskBytes)
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
	return &Task{Parent: bundle.Parent, Header: bundle.Header, Accesses: bundle.Accesses, Witness: witness}, nil
}

// Prover makes proofs one after the other, and keeps its memory from one to the next.
type Prover struct {
	prover   *prover.Prover
	room     blockproof.Room
	level    int
	parallel blockproof.Parallel
}

// NewProver returns a prover of proofs with so many proven bits, one of those in stark.Levels.
func NewProver(bits int, parallel blockproof.Parallel) (*Prover, error) {
	for level := range stark.Levels {
		if stark.Levels[level].Bits == bits {
			return &Prover{prover: prover.New(blockproof.Circuit()), level: level, parallel: parallel}, nil
		}
	}
	return nil, fmt.Errorf("there are no proofs of %d bits", bits)
}

// Bits are the proven bits of its proofs.
func (p *Prover) Bits() int { return stark.Levels[p.level].Bits }

// Prove makes the proof of a task. Its errors are of the task: the witness leads to other roots, or the headers do not
// belong together.
func (p *Prover) Prove(t *Task) ([]byte, error) {
	statement, err := blockproof.NewStatement(&t.Parent.Header, &t.Header.Header, t.Accesses)
	if err != nil {
		return nil, err
	}
	var segments []blockproof.Proven
	for segment, err := range blockproof.Trace(statement, t.Accesses, t.Witness, p.parallel) {
		if err != nil {
			return nil, err
		}
		argument, err := p.prover.Prove(&segment.Instance, p.level, segment.Columns(&p.room, p.parallel), p.parallel)
		if err != nil {
			return nil, fmt.Errorf("segment %d: %w", len(segments), err)
		}
		segments = append(segments, segment.Proven(argument))
	}
	return blockproof.EncodeProof(segments), nil
}
