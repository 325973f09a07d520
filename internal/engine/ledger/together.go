package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Blocks that have a proof together are executed on the union of their access lists as their only state. The proof
// shows the state before the first and the root after the last. The roots in between are shown by nothing. So the
// blocks are put on disk together, or not at all.

// ErrNotTogether is the error of blocks that have to be imported one by one. They are not a span, another producer than
// the tip's made some, or they used too much gas. Nobody is to blame.
var ErrNotTogether = errors.New("these blocks are not imported together")

// ProvenRange is received blocks of a span with the union of their access lists, which is proven. Only
// [Stateless.VerifyRange] makes one.
type ProvenRange struct {
	blocks   []*Received
	span     blockproof.Span
	accesses []types.Access
	proof    []byte
}

// mostTogether bounds the encoded blocks that are imported together, in bytes. Until they are, they wait in memory.
// Transfers take about half of it with the gas that a range may have.
const mostTogether = 16 << 20

// FitTogether tells whether blocks may be imported together, where they are a span or begin one. Each follows the one
// before it. All are of one producer: what the first one's did not sign is not waited with. Their gas is that of a
// range, and they are not large.
func FitTogether(blocks []*Received) bool {
	size := 0
	for i, b := range blocks {
		size += len(b.encoded)
		if i > 0 && (b.header.Header.Parent != blocks[i-1].hash ||
			b.header.Header.Producer != blocks[0].header.Header.Producer) {
			return false
		}
	}
	return size <= mostTogether && blockproof.FitsRange(headersOf(blocks))
}

func headersOf(blocks []*Received) []types.SignedHeader {
	headers := make([]types.SignedHeader, len(blocks))
	for i, b := range blocks {
		headers[i] = b.header
	}
	return headers
}

// VerifyRange checks the proof of blocks that follow the head, together, and the union of their access lists, in the
// encoding of a range. What that says of headers counts for nothing. Errors: those of [core.CheckNext] of the first,
// [ErrNotTogether], and [ErrEvidence].
func (l *Stateless) VerifyRange(blocks []*Received, encoded []byte) (*ProvenRange, error) {
	if err := l.CheckNext(blocks[0]); err != nil {
		return nil, err
	}
	headers := append([]types.SignedHeader{l.Tip().Header}, headersOf(blocks)...)
	span, is := blockproof.SpanOf(headers[1].Header.Height, headers[len(blocks)].Header.Height)
	if !is || span.Log() == 0 || int(span.Blocks()) != len(blocks) || !FitTogether(blocks) {
		return nil, ErrNotTogether
	}
	r, err := blockproof.DecodeRangeOf(encoded, headers)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvidence, err)
	}
	if _, err := r.Verify(l.bits, parallel.Run); err != nil {
		return nil, fmt.Errorf("%w: blocks %d to %d: %w", ErrEvidence, span.First(), span.Last(), err)
	}
	return &ProvenRange{blocks, span, r.Accesses, r.Proof}, nil
}

// ImportRange executes blocks on the union of their access lists. It compares what each gives with its header, and what
// all give with the list. It puts them on disk together. Errors are those of [Stateless.Import]. An [*InvalidBlock] is
// of any of the blocks: the values before the first are proven, and each block is executed on what those before it
// wrote. The last is invalid, too, if its root is proven to follow from other writes.
func (l *Stateless) ImportRange(p *ProvenRange, fetch Fetch) ([]Block, error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	now := time.Now()
	timings := Timings{Start: now}
	entries, err := l.deriveRange(p, fetch)
	if err != nil {
		return nil, err
	}
	timings.Execute = lap(&now)
	if err := l.store.AppendTogether(entries, p.span, p.proof); err != nil {
		return nil, fmt.Errorf("append blocks %d to %d: %w", p.span.First(), p.span.Last(), err)
	}
	timings.Append = lap(&now)
	imported := make([]Block, len(entries))
	for i, b := range p.blocks {
		imported[i] = b.imported(entries[i].Result, timings)
		timings = Timings{Start: timings.Start} // what all took is the first one's
	}
	return imported, l.publish()
}

// carried is the state in the middle of a range: what its blocks wrote, on the values before the first.
type carried struct {
	before *provenState
	now    map[string][]byte
}

// Get implements state.Reader.
func (c *carried) Get(key []byte) ([]byte, error) {
	if value, written := c.now[string(key)]; written {
		return value, nil
	}
	return c.before.Get(key)
}

// deriveRange executes the blocks, and compares what they give with headers and list.
func (l *Stateless) deriveRange(p *ProvenRange, fetch Fetch) ([]chain.Entry, error) {
	tip, code := l.Tip(), make(map[types.CodeHash][]byte)
	state := &carried{now: make(map[string][]byte), before: &provenState{
		accesses: p.accesses, root: tip.Header.Header.StateRoot, value: fetch.Value, shown: make(map[string][]byte),
	}}
	entries, lists := make([]chain.Entry, len(p.blocks)), make([][]types.Access, len(p.blocks))
	for i, b := range p.blocks {
		switch err := b.checkNext(tip); {
		case i > 0 && errors.Is(err, exec.ErrUnknownVersion): // those before it can be had
			return nil, ErrNotTogether
		case err != nil:
			return nil, err
		}
		fetched := func(hash types.CodeHash) ([]byte, error) {
			if earlier, known := code[hash]; known { // which is not on disk yet
				return earlier, nil
			}
			return fetch.Code(hash)
		}
		e, err := l.deriveOn(tip, b, state, fetched)
		if err != nil {
			return nil, err
		}
		maps.Copy(code, e.Codes)
		entries[i], lists[i] = e, e.Accesses
		parameters := tip.Parameters
		if a := parametersIn(e.Accesses); a != nil && a.Changed() {
			if parameters, err = types.DecodeParameters(a.New); err != nil {
				return nil, fmt.Errorf("the parameters after block %d: %w", e.Header.Height, err)
			}
		}
		for _, w := range types.Writes(e.Accesses) {
			state.now[string(w.Key)] = w.New
		}
		tip = l.newTip(b.header, parameters)
	}
	return entries, p.check(entries, lists, state.before.lacks)
}

// deriveOn executes a block on a state in the middle of a range, and compares what it gives with its header.
func (l *Stateless) deriveOn(
	tip *Tip, b *Received, state *carried, fetch func(types.CodeHash) ([]byte, error),
) (e chain.Entry, err error) {
	var before *provenState
	e, err = judge(&l.core, b, func(engine vm.Engine) (chain.Entry, error) {
		before = state.before.clone()
		return l.executeListed(tip, b, before, state.now, engine, fetch)
	})
	if err == nil {
		state.before = before
	}
	return e, err
}

// check compares what the blocks gave with the list that is proven. lacks is a key that was looked up outside of it.
func (p *ProvenRange) check(entries []chain.Entry, lists [][]types.Access, lacks []byte) error {
	derived, err := blockproof.UnionAccesses(lists)
	if err != nil {
		return err
	}
	last := &entries[len(entries)-1]
	if types.DigestAccesses(types.Writes(derived)) != types.DigestAccesses(types.Writes(p.accesses)) {
		header := last.Header
		header.StateRoot = types.StateRoot{} // which the writes lead to is not known
		return &InvalidBlock{
			Claimed:  last.Signed(),
			Derived:  header,
			Receipts: last.Receipts,
			Writes:   types.Writes(last.Accesses),
			Err: fmt.Errorf("%w: its state_root is proven to follow from other writes than those of blocks %d to %d",
				exec.ErrHeader, p.span.First(), p.span.Last()),
		}
	}
	first, end := p.span.First(), p.span.Last()
	switch {
	case lacks != nil: // it is only read
		return fmt.Errorf("%w: blocks %d to %d: %w: %x", ErrEvidence, first, end, errNotListed, lacks)
	case !bytes.Equal(types.EncodeAccesses(derived), types.EncodeAccesses(p.accesses)):
		return fmt.Errorf("%w: blocks %d to %d: the access list has a key that they do not touch", ErrEvidence, first, end)
	}
	return nil
}
