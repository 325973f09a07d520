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

// Blocks with a joint proof are executed on the union of their access lists as their only state. The proof shows the
// state before the first block and the root after the last, but no root in between. So the blocks are put on disk
// together or not at all.

// ErrNotTogether is returned for blocks that must be imported one by one: they are not a span, some are by a producer
// other than the tip's, or they used too much gas. Nobody is to blame.
var ErrNotTogether = errors.New("these blocks are not imported together")

// ProvenRange is a span of received blocks with the proven union of their access lists. Only [Stateless.VerifyRange]
// makes one.
type ProvenRange struct {
	blocks   []*Received
	span     blockproof.Span
	accesses []types.Access
	proof    []byte
}

// mostTogether bounds, in bytes, the encoded blocks that are imported together. They wait in memory until then.
// Transfers take about half of it with the gas that a range may use.
const mostTogether = 16 << 20

// FitTogether reports whether blocks, which form or begin a span, may be imported together. Each must follow the one
// before it. All must be by one producer, since a block that the first one's producer did not sign is not worth waiting
// for. Together they must stay within a range's gas and mostTogether bytes.
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

// VerifyRange checks the joint proof of blocks that follow the head and the union of their access lists, both encoded
// as a range. It ignores the headers in the encoding. It returns the errors of [core.CheckNext] for the first block,
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

// ImportRange executes blocks on the union of their access lists. It compares each result with the block's header and
// all results with the list, and puts the blocks on disk together. It returns the errors of [Stateless.Import]. An
// [*InvalidBlock] may refer to any of the blocks: the values before the first are proven, and each block is executed on
// the writes of those before it. The last block is also invalid if its root is proven to follow from other writes.
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
		timings = Timings{Start: timings.Start} // the first block carries the total
	}
	return imported, l.publish()
}

// carried is the state between two blocks of a range. It overlays the writes of the range's earlier blocks on the
// values before its first block.
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

// deriveRange executes the blocks and compares the results with the headers and the list. Each block's header is
// compared at once, but its writes only after the last block. If those differ, each engine executes all blocks alone.
func (l *Stateless) deriveRange(p *ProvenRange, fetch Fetch) ([]chain.Entry, error) {
	entries, err := l.tryRange(p, fetch, l.deriveOn)
	if !errors.Is(err, errOtherWrites) {
		return entries, err
	}
	last := p.blocks[len(p.blocks)-1]
	return deriveWithFallback(&l.core, last, func(engine vm.Engine) ([]chain.Entry, error) {
		return l.tryRange(p, fetch, func(tip *Tip, b *Received, state *carried, code fetchCode) (chain.Entry, error) {
			return l.executeListed(tip, b, state.before, state.now, engine, code)
		})
	})
}

// fetchCode gets a code by its hash.
type fetchCode = func(types.CodeHash) ([]byte, error)

// tryRange executes the blocks with a function that executes one.
func (l *Stateless) tryRange(
	p *ProvenRange, fetch Fetch, derive func(*Tip, *Received, *carried, fetchCode) (chain.Entry, error),
) ([]chain.Entry, error) {
	tip, code := l.Tip(), make(map[types.CodeHash][]byte)
	state := &carried{now: make(map[string][]byte), before: &provenState{
		accesses: p.accesses, root: tip.Header.Header.StateRoot, value: fetch.Value, shown: make(map[string][]byte),
	}}
	entries, lists := make([]chain.Entry, len(p.blocks)), make([][]types.Access, len(p.blocks))
	for i, b := range p.blocks {
		switch err := b.checkNext(tip); {
		case i > 0 && errors.Is(err, exec.ErrUnknownVersion): // the blocks before it can be imported
			return nil, ErrNotTogether
		case err != nil:
			return nil, err
		}
		fetched := func(hash types.CodeHash) ([]byte, error) {
			if earlier, known := code[hash]; known { // not yet on disk
				return earlier, nil
			}
			return fetch.Code(hash)
		}
		e, err := derive(tip, b, state, fetched)
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

// deriveOn executes a block on a state in the middle of a range, and compares the result with its header.
func (l *Stateless) deriveOn(tip *Tip, b *Received, state *carried, fetch fetchCode) (e chain.Entry, err error) {
	var before *provenState
	e, err = deriveWithFallback(&l.core, b, func(engine vm.Engine) (chain.Entry, error) {
		before = state.before.clone()
		return l.executeListed(tip, b, before, state.now, engine, fetch)
	})
	if err == nil {
		state.before = before
	}
	return e, err
}

// errOtherWrites is the reason why the last block of a range is not valid if the writes of the range differ.
var errOtherWrites = fmt.Errorf("%w: state_root is proven to follow from other writes", exec.ErrHeader)

// check compares the results of the blocks with the proven list. lacks is a key that was looked up outside the list,
// nil if none was.
func (p *ProvenRange) check(entries []chain.Entry, lists [][]types.Access, lacks []byte) error {
	derived, err := blockproof.UnionAccesses(lists)
	if err != nil {
		return err
	}
	first, end := p.span.First(), p.span.Last()
	if differ := blockproof.CompareWrites(derived, p.accesses); differ != nil {
		return otherRoot(entries[len(entries)-1],
			fmt.Errorf("%w than those of blocks %d to %d: %w", errOtherWrites, first, end, differ))
	}
	switch {
	case lacks != nil: // the key is only read
		return fmt.Errorf("%w: blocks %d to %d: %w: %x", ErrEvidence, first, end, errNotListed, lacks)
	case !bytes.Equal(types.EncodeAccesses(derived), types.EncodeAccesses(p.accesses)):
		return fmt.Errorf("%w: blocks %d to %d: the access list has a key that they do not touch", ErrEvidence, first, end)
	}
	return nil
}
