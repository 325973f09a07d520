package replica

import (
	"context"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
)

// rangeAhead is a range that is requested ahead of its turn, while the one before it is verified and executed. It holds
// one range at a time, of at most aheadBytes; a larger one is requested again when its turn comes. It is not safe for
// concurrent use.
type rangeAhead struct {
	source Source
	span   blockproof.Span
	answer chan []byte // gets one answer, nil for a failure
	stop   context.CancelFunc
}

// ask requests the range of a span from a source. The request ends with ctx.
func (a *rangeAhead) ask(ctx context.Context, from Source, span blockproof.Span) {
	a.drop()
	ctx, stop := context.WithTimeout(ctx, requestTime)
	answer := make(chan []byte, 1)
	*a = rangeAhead{from, span, answer, stop}
	go func() {
		encoded, err := from.Range(ctx, span.First(), span.Last(), aheadBytes)
		if err != nil { // the request made in its turn will report the error
			encoded = nil
		}
		answer <- encoded
	}()
}

// take waits for the range of a span and returns it. It returns nil if the range was not requested, failed, or has more
// than most bytes.
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

// drop cancels the request and discards its answer.
func (a *rangeAhead) drop() {
	if a.stop != nil {
		a.stop()
	}
	*a = rangeAhead{}
}
