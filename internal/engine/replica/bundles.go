package replica

import (
	"context"

	"github.com/cairn-chain/cairn/types"
)

const (
	// mostAhead is how many bundles are asked for before their turn at most, and aheadBytes how large each of them may be.
	// A larger one is asked for again when it is its turn: what waits here is at most the product, 64 MiB.
	mostAhead  = 8
	aheadBytes = 8 << 20
)

// bundles gets the bundles of blocks, those of some blocks before their turn. It is for one goroutine.
type bundles struct {
	source Source
	ahead  map[types.Height]chan []byte // asked for; each gets one answer, nil for none
	// how many are asked for ahead: it doubles with each that is there, and one fails to 1
	window int
}

// of forgets what another source was asked for.
func (b *bundles) of(from Source) {
	if b.source != from || b.ahead == nil {
		*b = bundles{source: from, ahead: make(map[types.Height]chan []byte), window: 1}
	}
}

// get returns the bundle of a block, of at most so many bytes. Errors are [ErrNotProven] and faults of the source.
func (b *bundles) get(ctx context.Context, from Source, h types.Height, most int64) ([]byte, error) {
	b.of(from)
	if answer, asked := b.ahead[h]; asked {
		delete(b.ahead, h)
		select {
		case bundle := <-answer:
			if bundle != nil {
				b.window = min(2*b.window, mostAhead)
				return bundle, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		b.window = 1
	}
	bundle, err := requestBundle(ctx, from, h, most)
	if len(bundle) > aheadBytes {
		b.window = 0 // those of the blocks after it are about as large
	} else if err == nil {
		b.window = max(1, b.window)
	}
	return bundle, err
}

// ask asks for the bundles of the next blocks, of which so many are there, as far as the window goes. The requests end
// with ctx. They go to the source of the last get or of.
func (b *bundles) ask(ctx context.Context, from Source, next types.Height, blocks int) {
	for h := range b.ahead {
		if h < next || h >= next+mostAhead { // of blocks that were imported otherwise, or taken back
			delete(b.ahead, h)
		}
	}
	for h := next; h < next+types.Height(min(blocks, b.window)); h++ {
		if _, asked := b.ahead[h]; asked {
			continue
		}
		answer := make(chan []byte, 1)
		b.ahead[h] = answer
		go func() {
			bundle, err := requestBundle(ctx, from, h, aheadBytes)
			if err != nil { // what is wrong shows when it is asked for in its turn
				bundle = nil
			}
			answer <- bundle
		}()
	}
}

// requestBundle asks for the bundle of a block, of at most limit bytes.
func requestBundle(ctx context.Context, from Source, h types.Height, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	bundle, err := from.Bundle(ctx, h, limit)
	return bundle, asked(err, "the proof of a block")
}
