package replica

import (
	"context"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
)

// rangeAhead is a range that was asked for before its turn, while the one before it is verified and executed. There is
// one at a time, of aheadBytes at most: a larger one is asked for again when it is its turn. It is for one goroutine.
type rangeAhead struct {
	source Source
	span   blockproof.Span
	answer chan []byte // gets one answer, nil for none
	stop   context.CancelFunc
}

// ask asks a source for the range of a span. The request ends with ctx.
func (a *rangeAhead) ask(ctx context.Context, from Source, span blockproof.Span) {
	a.drop()
	ctx, stop := context.WithTimeout(ctx, requestTime)
	answer := make(chan []byte, 1)
	*a = rangeAhead{from, span, answer, stop}
	go func() {
		encoded, err := from.Range(ctx, span.First(), span.Last(), aheadBytes)
		if err != nil { // what is wrong shows when it is asked for in its turn
			encoded = nil
		}
		answer <- encoded
	}()
}

// take returns the range of a span, once it is there, if it was asked for and has at most so many bytes; else nil.
func (a *rangeAhead) take(ctx context.Context, from Source, span blockproof.Span, most int64) []byte {
	defer a.drop()
	if a.answer == nil || a.source != from || a.span != span {
		return nil
	}
	select {
	case encoded := <-a.answer:
		if int64(len(encoded)) <= most {
			return encoded
		}
	case <-ctx.Done():
	}
	return nil
}

// drop ends the request, and forgets its answer.
func (a *rangeAhead) drop() {
	if a.stop != nil {
		a.stop()
	}
	*a = rangeAhead{}
}
