package blockproof

import "github.com/cairn-chain/cairn/types"

// Span identifies the blocks of a scheduled proof: 2^k blocks, the last of which has a height that is a multiple of
// 2^k. Its value is that height with k in the top byte; so the value for a single block is its height.
type Span uint64

// MaxSpanLog is the maximum of k.
const MaxSpanLog = 12

// spanShift is the position of k in a span.
const spanShift = 56

// NewSpan returns the span of 2^log blocks that ends with block last, whose height must be a multiple of 2^log.
func NewSpan(last types.Height, log int) Span { return Span(uint64(log)<<spanShift | uint64(last)) }

// SpanOf returns the span from block first to block last. It returns false if they do not form a span.
func SpanOf(first, last types.Height) (s Span, is bool) {
	for log := range MaxSpanLog + 1 {
		if s = NewSpan(last, log); s.First() == first && s.Last() == last && s.Valid() {
			return s, true
		}
	}
	return 0, false
}

// Log returns the binary logarithm of the number of blocks.
func (s Span) Log() int { return int(s >> spanShift) }

// Blocks returns the number of blocks.
func (s Span) Blocks() types.Height { return 1 << s.Log() }

// Last returns the height of the last block.
func (s Span) Last() types.Height { return types.Height(s & (1<<spanShift - 1)) }

// First returns the height of the first block.
func (s Span) First() types.Height { return s.Last() + 1 - s.Blocks() }

// Valid reports whether s is the value of a span.
func (s Span) Valid() bool {
	return s.Log() <= MaxSpanLog && s.Last() > 0 && s.Last()%s.Blocks() == 0
}
