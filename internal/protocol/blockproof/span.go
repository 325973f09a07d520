package blockproof

import "github.com/cairn-chain/cairn/types"

// Span is the blocks that one proof is about, where proofs are made on a schedule: 2^k blocks whose last has a height
// that is a multiple of 2^k. As a number it is that height, with k in the uppermost byte; so a block's is its height.
type Span uint64

// MaxSpanLog is the k of the largest span.
const MaxSpanLog = 12

// spanShift is where k stands in a span.
const spanShift = 56

// NewSpan is the span of 2^log blocks that ends with a block whose height is a multiple of that.
func NewSpan(last types.Height, log int) Span { return Span(uint64(log)<<spanShift | uint64(last)) }

// SpanOf is the span from one block to another, if that is one.
func SpanOf(first, last types.Height) (s Span, is bool) {
	for log := range MaxSpanLog + 1 {
		if s = NewSpan(last, log); s.First() == first && s.Last() == last && s.Valid() {
			return s, true
		}
	}
	return 0, false
}

// Log is the binary logarithm of the number of blocks.
func (s Span) Log() int { return int(s >> spanShift) }

// Blocks is how many blocks there are.
func (s Span) Blocks() types.Height { return 1 << s.Log() }

// Last is the height of the last block.
func (s Span) Last() types.Height { return types.Height(s & (1<<spanShift - 1)) }

// First is the height of the first block.
func (s Span) First() types.Height { return s.Last() + 1 - s.Blocks() }

// Valid tells a span from any number.
func (s Span) Valid() bool {
	return s.Log() <= MaxSpanLog && s.Last() > 0 && s.Last()%s.Blocks() == 0
}
