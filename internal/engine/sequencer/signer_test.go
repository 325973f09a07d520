package sequencer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/storage/sealed"
	"github.com/cairn-chain/cairn/types"
)

var errAway = errors.New("away")

// distant is a signer in another process: it signs only the first header of each height, even if its answer is lost.
type distant struct {
	Signer
	mu    sync.Mutex
	held  map[types.Height]types.Header
	away  bool // the signer is unreachable
	mute  bool // the signer signs, but its answer does not arrive
	other int  // was asked for another header of a height that it holds
}

func (d *distant) Sign(ctx context.Context, h types.Header) (types.Signature, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return types.Signature{}, errAway
	}
	if held, is := d.held[h.Height]; is && held != h {
		d.other++
		return types.Signature{}, errors.New("another one is held")
	}
	d.held[h.Height] = h
	if d.mute {
		return types.Signature{}, errAway
	}
	return d.Signer.Sign(ctx, h)
}

func (d *distant) set(away, mute bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away, d.mute = away, mute
}

// newDistant returns an engine, not started, whose key is at a signer.
func newDistant(t *testing.T) (*fixture, *distant, func() error) {
	t.Helper()
	wall := new(bubbleClock)
	s, end := open(t, nil, wall, time.Second)
	d := &distant{Signer: Local(producerKey), held: map[types.Height]types.Header{}}
	s.key = d
	s.AskSigner(filepath.Join(t.TempDir(), "unsigned"), slog.New(slog.DiscardHandler))
	return &fixture{Solo: s, t: t, wall: wall, nonce: map[types.Account]uint64{}}, d, end
}

// runFor runs the engine for the given time.
func (f *fixture) runFor(d time.Duration) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), d)
	defer cancel()
	if err := f.Run(ctx); err != nil {
		f.t.Fatal(err)
	}
}

// While a signer is away no blocks are made; they continue when it is back.
func TestSignerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, d, end := newDistant(t)
		f.runFor(3500 * time.Millisecond)
		f.expect("height", f.height(), types.Height(3))
		d.set(true, false)
		f.runFor(10 * time.Second)
		f.expect("height without the signer", f.height(), types.Height(3))
		d.set(false, false)
		f.runFor(2500 * time.Millisecond)
		f.expect("height with it again", f.height(), types.Height(6)) // the transaction that waited, and two more
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// An engine that ended after its signer recorded a block, but before the answer arrived, makes the same block next,
// despite newer transactions and the time that passed. A damaged file is an error; a file for a block that the chain
// has passed is not.
func TestSignedBlockIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, d, end := newDistant(t)
		f.send(alice, payment)
		d.set(false, true)
		f.runFor(1500 * time.Millisecond)
		f.expect("height", f.height(), types.Height(0))
		f.send(alice, payment)
		f.pass(time.Minute)
		d.set(false, false)
		f.runFor(time.Millisecond)
		f.expect("the block", f.ledger.Tip().Hash, d.held[1].Hash())
		f.expect("pending", f.pool.Stats().Count, 1)
		f.runFor(1500 * time.Millisecond)
		f.expect("height after it", f.height(), types.Height(2))
		f.expect("second headers", d.other, 0)
		if err := os.WriteFile(f.decide.path, []byte("no block"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.Run(t.Context()); !errors.Is(err, sealed.ErrDamaged) {
			t.Errorf("a damaged file: %v, want %v", err, sealed.ErrDamaged)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}
