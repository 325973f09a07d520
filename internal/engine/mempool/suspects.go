package mempool

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/engine/turns"
	"github.com/cairn-chain/cairn/types"
)

// Limits for sources that sent a bad signature. Such a source may be an address shared by many clients, so it keeps a
// useful rate: suspects take turns, and a single one has some thousand signatures verified per second.
const (
	suspectTime    = time.Minute // for which a source is a suspect after its last bad signature
	suspectTurn    = 16          // signatures that are verified in one turn
	suspectWaiting = 16          // requests of one suspect that may wait for their turn
	suspectRest    = 4           // pause after a turn, in multiples of its duration: all suspects use a fifth of a core
	maxSuspects    = 16_384      // sources that are remembered
)

// verifier verifies signatures. Honest sources' signatures are verified in batches of those that have queued up during
// the last batch. Suspects' are verified one by one and in turns, so that bad ones do not spoil others' batches.
type verifier struct {
	now    func() time.Time
	after  func(time.Duration, func()) // time.AfterFunc
	verify verifyFunc                  // counted
	honest *lane
	turns  *turns.Turns // for suspects
	counts signatureCounts
	closed atomic.Bool

	mu       sync.Mutex
	suspects map[string]time.Time // source → its last bad signature
}

func newVerifier(now func() time.Time, verify verifyFunc) *verifier {
	v := &verifier{
		now:      now,
		after:    func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		turns:    turns.New(turns.Limits{Slots: 1, PerClient: 1, Waiting: suspectWaiting}),
		suspects: make(map[string]time.Time),
	}
	v.verify = v.counts.counting(verify)
	gather := 1
	if bip340.Lanes() {
		gather = 8 // one group of vector lanes, which costs hardly more than one signature
	}
	v.honest = newLane(v.verify, runtime.GOMAXPROCS(0), gather, batchSize, queueItems, queueBytes)
	return v
}

// check sets verified or err of every candidate.
func (v *verifier) check(ctx context.Context, batch []*candidate, source string) {
	if v.isSuspect(source) {
		v.checkSuspect(ctx, batch, source)
	} else {
		v.honest.verify(ctx, batch)
	}
	for _, c := range batch {
		if c.err == ErrBadSignature {
			v.accuse(source)
			return
		}
	}
}

// checkSuspect is check for a suspect's candidates, of which each turn verifies a limited number.
func (v *verifier) checkSuspect(ctx context.Context, batch []*candidate, source string) {
	for len(batch) > 0 {
		give, err := v.turns.Take(ctx, source)
		switch {
		case errors.Is(err, turns.ErrBusy):
			err = &FullError{Class: ClassSuspects, RetryAfter: queueBackoff}
		case err == nil && v.closed.Load():
			give()
			err = ErrClosed
		}
		if err != nil {
			for _, c := range batch {
				c.err = err
			}
			return
		}
		n, begun := min(len(batch), suspectTurn), time.Now()
		for _, c := range batch[:n] {
			if c.verified = v.verify([]*types.Tx{c.tx})[0]; c.verified == nil {
				c.err = ErrBadSignature
			}
		}
		batch = batch[n:]
		v.after(suspectRest*time.Since(begun), give)
	}
}

func (v *verifier) isSuspect(source string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, ok := v.suspects[source]
	if ok && v.now().Sub(last) >= suspectTime {
		delete(v.suspects, source)
		return false
	}
	return ok
}

func (v *verifier) accuse(source string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	if len(v.suspects) >= maxSuspects {
		for s, last := range v.suspects {
			if now.Sub(last) >= suspectTime {
				delete(v.suspects, s)
			}
		}
	}
	// If still too many are suspects, remove arbitrary ones.
	for s := range v.suspects {
		if len(v.suspects) < maxSuspects {
			break
		}
		delete(v.suspects, s)
	}
	v.suspects[source] = now
}

func (v *verifier) close() {
	v.closed.Store(true)
	v.honest.close()
}
