package replica

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// Ranges describes the joint proofs that a node has for ranges of one length: the first block of the oldest range and
// the last block of the newest.
type Ranges struct {
	Blocks         types.Height // length of a range; the height of its last block is a multiple of it
	Oldest, Newest types.Height
}

// spans reports whether a range of this length begins with block Oldest, and one ends with block Newest.
func (r Ranges) spans() bool {
	_, oldest := blockproof.SpanOf(r.Oldest, r.Oldest+r.Blocks-1)
	_, newest := blockproof.SpanOf(r.Newest+1-r.Blocks, r.Newest)
	return oldest && newest && r.Oldest <= r.Newest
}

// ErrNoRange is returned for a range of which a node has no proof.
var ErrNoRange = errors.New("there is no proof of these blocks together")

// has reports whether the proof of a span may be there.
func (r Ranges) has(span blockproof.Span) bool {
	return r.Blocks == span.Blocks() && r.Oldest <= span.First() && span.Last() <= r.Newest
}

// plan holds the spans of a source that may begin with a given block.
type plan struct {
	source Source
	newest types.Height // newest block that the source has
	next   types.Height
	spans  []blockproof.Span // largest first

	offered []Ranges     // the source's last answer
	again   types.Height // the block at which the source is asked again
}

// askAgain is the number of blocks after which a source is asked again for its ranges.
const askAgain = 16

// Gather reports whether to wait for more blocks before the first of these is imported: the source has blocks up to
// newest, and a joint proof of more blocks than these.
func (s *stateless) Gather(ctx context.Context, from Source, blocks []*ledger.Received, newest types.Height) bool {
	if !s.together || s.CheckNext(blocks[0]) != nil {
		return false
	}
	next := blocks[0].Header().Header.Height
	if s.plan.source != from {
		s.plan = plan{source: from}
	}
	s.plan.newest = newest
	if s.plan.next != next {
		s.plan.begin(ctx, next)
	}
	for len(s.plan.spans) > 0 {
		n := int(s.plan.spans[0].Blocks())
		if ledger.FitTogether(blocks[:min(n, len(blocks))]) {
			return len(blocks) < n
		}
		s.plan.spans = s.plan.spans[1:]
	}
	return false
}

// begin determines the spans that begin with a block.
func (p *plan) begin(ctx context.Context, next types.Height) {
	p.next, p.spans = next, nil
	if next >= p.newest {
		return
	}
	if next >= p.again {
		offered, err := requestRanges(ctx, p.source)
		if err != nil {
			offered = nil // its blocks have proofs of their own
		}
		p.offered, p.again = offered, next+askAgain
	}
	p.spans = p.from(next)
}

// from returns the spans that begin with a block and of which the source may have a proof, according to its last
// answer.
func (p *plan) from(next types.Height) (spans []blockproof.Span) {
	for log := blockproof.MaxSpanLog; log >= 1; log-- {
		span := blockproof.NewSpan(next-1+1<<log, log)
		has := slices.ContainsFunc(p.offered, func(r Ranges) bool { return r.has(span) })
		if has && span.Valid() && span.Last() <= p.newest {
			spans = append(spans, span)
		}
	}
	return spans
}

// importTogether imports the largest group of first blocks that has a joint proof. It returns no blocks if there is
// none.
func (s *stateless) importTogether(
	ctx context.Context, from Source, blocks []*ledger.Received,
) ([]ledger.Block, error) {
	if s.plan.source != from || s.plan.next != blocks[0].Header().Header.Height {
		return nil, nil
	}
	for _, span := range s.plan.spans {
		n := int(span.Blocks())
		if n > len(blocks) {
			continue
		}
		imported, err := s.importSpan(ctx, from, blocks[:n], span)
		if !errors.Is(err, ErrNoRange) && !errors.Is(err, ledger.ErrNotTogether) {
			return imported, err
		}
	}
	return nil, nil
}

func (s *stateless) importSpan(
	ctx context.Context, from Source, blocks []*ledger.Received, span blockproof.Span,
) ([]ledger.Block, error) {
	headers := make([]types.SignedHeader, len(blocks))
	for i, b := range blocks {
		headers[i] = b.Header()
	}
	if !ledger.FitTogether(blocks) {
		return nil, ErrNoRange
	}
	encoded := s.ahead.take(ctx, from, span, MostRange(headers))
	if encoded == nil {
		var err error
		if encoded, err = requestRange(ctx, from, span, headers); err != nil {
			return nil, err
		}
	}
	s.prefetch(ctx, from, span)
	imported, err := s.importRange(blocks, encoded, fetchFrom(ctx, from, span.First()-1))
	if err != nil {
		s.ahead.drop()
	}
	return imported, err
}

// prefetch requests the next range or block's bundle while a span is verified and executed.
func (s *stateless) prefetch(ctx context.Context, from Source, span blockproof.Span) {
	next := span.Last() + 1
	if spans := s.plan.from(next); len(spans) > 0 {
		s.ahead.ask(ctx, from, spans[0])
	} else if next <= s.plan.newest {
		s.bundles.of(from)
		s.bundles.ask(ctx, from, next, 1)
	}
}

// importRange verifies and imports blocks with a joint proof.
func (s *stateless) importRange(
	blocks []*ledger.Received, encoded []byte, fetch ledger.Fetch,
) ([]ledger.Block, error) {
	proven, err := s.VerifyRange(blocks, encoded)
	if err != nil {
		return nil, err
	}
	return s.ImportRange(proven, fetch)
}

// requestRange requests the range of a span. headers are its blocks' headers, whose gas bounds the size of the range.
func requestRange(
	ctx context.Context, from Source, span blockproof.Span, headers []types.SignedHeader,
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	encoded, err := from.Range(ctx, span.First(), span.Last(), MostRange(headers))
	if errors.Is(err, ErrNoRange) {
		return nil, err
	}
	return encoded, asked(err, "the proof of a range")
}

// requestRanges asks a source for its ranges. It keeps the first plausible answer for each possible length and ignores
// the rest.
func requestRanges(ctx context.Context, from Source) (believed []Ranges, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	offered, err := from.Ranges(ctx)
	for log := 1; log <= blockproof.MaxSpanLog; log++ {
		if i := slices.IndexFunc(offered, func(r Ranges) bool { return r.Blocks == 1<<log && r.spans() }); i >= 0 {
			believed = append(believed, offered[i])
		}
	}
	return believed, err
}

// blockAtFault returns the block that an error blames, if one of several blocks to be imported together is invalid;
// otherwise the first.
func blockAtFault(blocks []*ledger.Received, err error) *ledger.Received {
	var invalid *ledger.InvalidBlock
	var failure *ledger.EngineFailure
	var header types.SignedHeader
	if errors.As(err, &invalid) {
		header = invalid.Claimed
	} else if errors.As(err, &failure) {
		header = failure.Claimed
	}
	for _, b := range blocks {
		if b.Header() == header {
			return b
		}
	}
	return blocks[0]
}
