package blockproof

import (
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		first, last types.Height
		log         int // −1: no span
	}{
		{1, 1, 0}, {7, 7, 0}, {1, 2, 1}, {2, 3, -1}, {3, 4, 1}, {1, 16, 4}, {17, 32, 4}, {16, 31, -1}, {17, 31, -1},
		{257, 512, 8}, {1, 4096, 12}, {1, 8192, -1}, {5, 4, -1}, {0, 0, -1}, {0, 1, -1}, {1, 1 << 60, -1},
		{15, 1<<56 | 16, -1}, {1<<64 - 15, 0, -1},
	} {
		s, is := SpanOf(c.first, c.last)
		switch {
		case is != (c.log >= 0):
			t.Errorf("%d to %d: got %t", c.first, c.last, is)
		case is && (s.Log() != c.log || s.First() != c.first || s.Last() != c.last || !s.Valid()):
			t.Errorf("%d to %d: %d to %d, %d", c.first, c.last, s.First(), s.Last(), s.Log())
		}
	}
	for _, s := range []Span{0, 1 << 56, 1<<56 | 3, 13<<56 | 8192, 255<<56 | 1} {
		if s.Valid() {
			t.Errorf("%x is taken for a span", uint64(s))
		}
	}
	if Span(9) != NewSpan(9, 0) {
		t.Error("a block's span is not its height")
	}
}
