package proving

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

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
		return nil, errors.New("task: of no span")
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
