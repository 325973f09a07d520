package replica

import (
	"context"

	"github.com/cairn-chain/cairn/types"
)

const (
	// mostAhead bounds the number of bundles that are requested ahead of their turn, and aheadBytes the size of each. A
	// larger bundle is requested again when its turn comes. So at most the product, 64 MiB, waits in memory.
	mostAhead  = 8
	aheadBytes = 8 << 20
)

// bundles requests the bundles of blocks, some of them ahead of their turn. It is not safe for concurrent use.
type bundles struct {
	source Source
	ahead  map[types.Height]chan []byte // requested ahead; each channel gets one answer, nil for a failure
	// window is the number of bundles requested ahead. It doubles with each success, and a failure resets it to 1.
	window int
}

// of makes from the current source. It discards requests to any other one.
func (b *bundles) of(from Source) {
	if b.source != from || b.ahead == nil {
		*b = bundles{source: from, ahead: make(map[types.Height]chan []byte), window: 1}
	}
}

// get returns the bundle of a block, of at most most bytes. The error is [ErrNotProven] or a fault of the source.
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
		b.window = 0 // the next bundles are probably about as large
	} else if err == nil {
		b.window = max(1, b.window)
	}
	return bundle, err
}

// ask requests the bundles of up to blocks blocks from next on, as far as the window allows. The requests end with ctx.
// from must be the source of the last call of get or of.
func (b *bundles) ask(ctx context.Context, from Source, next types.Height, blocks int) {
	for h := range b.ahead {
		if h < next || h >= next+mostAhead { // for blocks imported by other means, or taken back
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
			if err != nil { // the request made in its turn will report the error
				bundle = nil
			}
			answer <- bundle
		}()
	}
}

// requestBundle requests the bundle of a block, of at most limit bytes.
func requestBundle(ctx context.Context, from Source, h types.Height, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	bundle, err := from.Bundle(ctx, h, limit)
	return bundle, asked(err, "the proof of a block")
}
