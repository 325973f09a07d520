// Package proving makes the proofs of blocks alongside the chain, without delaying it. Blocks queue with their
// witnesses, and separate processes take tasks from the queue. Each proof is verified before it is kept.
package proving

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/prover"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// Task is the input of a block's proof.
type Task struct {
	Parent, Header types.SignedHeader
	Accesses       []types.Access
	Witness        tree.Witness
	// Hurry asks for the fastest proof instead of the smallest: other blocks wait.
	Hurry bool
}

// MaxTaskBytes bounds the size of an encoded task that is read.
const MaxTaskBytes = 1 << 30

// Encode returns bincode { hurry: bool, bundle: Vec<u8>, witness: Vec<u8> }, with the block's bundle without a proof.
func (t *Task) Encode() []byte {
	bundle := blockproof.Bundle{Parent: t.Parent, Header: t.Header, Accesses: t.Accesses}
	return encodeTask(bundle, t.Witness.Encode(), t.Hurry)
}

// encodeTask is [Task.Encode] for an encoded witness.
func encodeTask(b blockproof.Bundle, witness []byte, hurry bool) []byte {
	bundle := b.Encode()
	e := codec.NewEncoder(17 + len(bundle) + len(witness))
	e.Option(hurry) // a bool is encoded like an option without its value
	e.Bytes(bundle)
	e.Bytes(witness)
	return e.Data()
}

// DecodeTask decodes the output of [Task.Encode]. It does not retain b, which is mostly the encoded witness.
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

// Prover makes proofs one at a time, and reuses its memory between them. It is not safe for concurrent use.
type Prover struct {
	prover   *prover.Prover
	scratch  blockproof.Scratch
	bits     int
	parallel blockproof.Parallel
}

// NewProver returns a prover of proofs with the given number of proven bits, one of stark.Levels.
func NewProver(proven int, parallel blockproof.Parallel) (*Prover, error) {
	if stark.QuickLevelOf(proven) < 0 {
		return nil, fmt.Errorf("there are no proofs of %d bits", proven)
	}
	return &Prover{prover: prover.New(blockproof.Circuit()), bits: proven, parallel: parallel}, nil
}

// Bits returns the number of proven bits of its proofs.
func (p *Prover) Bits() int { return p.bits }

// Prove makes the proof of a task. An error is a fault of the task: its witness leads to other roots, or its headers do
// not belong together.
func (p *Prover) Prove(t *Task) ([]byte, error) {
	statement, err := blockproof.NewStatement(&t.Parent.Header, &t.Header.Header, t.Accesses)
	if err != nil {
		return nil, err
	}
	return p.prove(statement, t.Accesses, t.Witness, t.Hurry)
}

// quickAccesses is the number of accesses from which on a range is proven in the fastest way. The smallest proof would
// take more than half as long as the proofs of all its blocks.
const quickAccesses = 1 << 12

// ProveRange makes the proof of a range from the witness of its list in the state before it, and sets r.Proof. Errors
// are as for [Prover.Prove].
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

// SpanTask is the input of a joint proof of a span's blocks.
type SpanTask struct {
	Headers   []types.SignedHeader // headers of the blocks, preceded by the header of the block before them
	Lists     [][]types.Access     // access lists of the blocks
	Witnesses []tree.Witness       // witnesses of the blocks, each in the state before its block
}

// spanKind is the first byte of an encoded span task. A block's task begins with a bool.
const spanKind = 2

// newSpanEncoder encodes the first part of a span's task, before its lists and witnesses.
func newSpanEncoder(headers []types.SignedHeader) *codec.Encoder {
	e := codec.NewEncoder(1<<16 + len(headers)*types.SignedHeaderBytes)
	e.U8(spanKind)
	e.U64(uint64(len(headers)))
	for _, h := range headers {
		e.Fixed(h.Encode())
	}
	return e
}

// Work is a [Task] or a [SpanTask].
type Work interface {
	// Span returns the span to be proven.
	Span() blockproof.Span
	// ProveWith makes the proof and returns the number of keys in its list. An error is a fault of the task.
	ProveWith(p *Prover) (proof []byte, accesses int, err error)
}

// DecodeWork decodes the task of a block or of a span. It does not retain b.
func DecodeWork(b []byte) (Work, error) {
	if len(b) == 0 || b[0] != spanKind {
		return DecodeTask(b)
	}
	d := codec.NewDecoder(b[1:])
	t := &SpanTask{Headers: make([]types.SignedHeader, d.Length(blockproof.MaxRange+1, types.SignedHeaderBytes))}
	for i := range t.Headers {
		var encoded [types.SignedHeaderBytes]byte
		d.Fixed(encoded[:])
		var err error
		if t.Headers[i], err = types.DecodeSignedHeader(encoded[:]); err != nil {
			return nil, fmt.Errorf("task: header %d: %w", i, err)
		}
	}
	for range max(1, len(t.Headers)) - 1 {
		list, witness := d.Bytes(MaxTaskBytes), d.Bytes(MaxTaskBytes)
		if d.Err() != nil {
			break
		}
		accesses, err := types.DecodeAccesses(bytes.Clone(list))
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		w, err := tree.DecodeWitness(witness)
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		t.Lists, t.Witnesses = append(t.Lists, accesses), append(t.Witnesses, w)
	}
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	if len(t.Headers) < 3 || !t.Span().Valid() {
		return nil, errors.New("task: the blocks do not form a span")
	}
	return t, nil
}

// Span implements Work.
func (t *Task) Span() blockproof.Span { return blockproof.Span(t.Header.Header.Height) }

// ProveWith implements Work.
func (t *Task) ProveWith(p *Prover) ([]byte, int, error) {
	proof, err := p.Prove(t)
	return proof, len(t.Accesses), err
}

// Span implements Work.
func (t *SpanTask) Span() blockproof.Span {
	blocks := len(t.Headers) - 1
	last := t.Headers[blocks].Header.Height
	span, _ := blockproof.SpanOf(last+1-types.Height(blocks), last) // 0, no span, if the blocks do not form one
	return span
}

// ProveWith implements Work. It joins the blocks' witnesses into one, so it needs no state.
func (t *SpanTask) ProveWith(p *Prover) ([]byte, int, error) {
	r := blockproof.Range{Headers: t.Headers}
	var err error
	if r.Accesses, err = blockproof.UnionAccesses(t.Lists); err != nil {
		return nil, 0, err
	}
	w, err := tree.JoinWitnesses(r.Accesses, t.Lists, t.Witnesses)
	if err != nil {
		return nil, 0, err
	}
	err = p.ProveRange(&r, w)
	return r.Proof, len(r.Accesses), err
}
