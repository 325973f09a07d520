package mempool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/engine/semaphore"
	"github.com/cairn-chain/cairn/internal/machine"
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

// verifier verifies witnesses. Witnesses from honest sources are verified in batches: each batch holds those that
// queued up during the last one. Witnesses with signatures over P-256, which are no cheaper in a batch, have a lane of
// their own, so that the others need not wait for them. Witnesses from suspects are verified one by one and in turns,
// so that bad ones do not spoil others' batches.
type verifier struct {
	now    func() time.Time
	after  func(time.Duration, func()) // time.AfterFunc
	verify verifyFunc                  // counted
	honest *lane
	p256   *lane           // for honest sources too
	turns  *semaphore.Fair // for suspects
	closed atomic.Bool

	good, bad, batches atomic.Uint64 // verified signatures, and calls of verify, since the start

	mu       sync.Mutex
	suspects map[string]time.Time // source → its last bad signature
}

// newVerifier returns a verifier that adds verified batches with add.
func newVerifier(now func() time.Time, verify verifyFunc, add func(...*batch)) *verifier {
	v := &verifier{
		now:      now,
		after:    func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		turns:    semaphore.New(semaphore.Limits{Total: 1, PerClient: 1, Waiting: suspectWaiting}),
		suspects: make(map[string]time.Time),
	}
	v.verify = v.counting(verify)
	gather := 1
	if bip340.Lanes() {
		gather = 8 // one group of vector lanes, which costs hardly more than one signature
	}
	v.honest = newLane(v.verify, add, machine.Cores(), gather, batchSize, queueItems, queueBytes)
	v.p256 = newLane(v.verify, add, machine.Cores(), 1, p256Batch, p256Items, p256Bytes)
	return v
}

// check sets verified or err of every candidate, the cheapest first. If one lane verifies them all, it also adds the batch
// adds, unless that is nil.
func (v *verifier) check(ctx context.Context, candidates []*candidate, source string, adds *batch) {
	v.each(candidates, func(l *lane, part []*candidate) {
		switch {
		case v.isSuspect(source):
			v.checkSuspect(ctx, part, source)
		case len(part) == len(candidates):
			l.verify(ctx, part, adds)
		default:
			l.verify(ctx, part, nil)
		}
		if slices.ContainsFunc(part, func(c *candidate) bool { return c.err == ErrBadSignature }) {
			v.addSuspect(source)
		}
	})
}

// checkAll is check for candidates of no source.
func (v *verifier) checkAll(ctx context.Context, batch []*candidate) {
	v.each(batch, func(l *lane, part []*candidate) { l.verify(ctx, part, nil) })
}

// each calls f for the candidates of each lane, if there are any.
func (v *verifier) each(batch []*candidate, f func(*lane, []*candidate)) {
	var cheap, dear []*candidate
	for _, c := range batch {
		if usesP256(c.signed()) {
			dear = append(dear, c)
		} else {
			cheap = append(cheap, c)
		}
	}
	if len(cheap) > 0 {
		f(v.honest, cheap)
	}
	if len(dear) > 0 {
		f(v.p256, dear)
	}
}

// usesP256 reports whether a witness of a transaction has a signature over P-256.
func usesP256(tx *types.SignedTransaction) bool {
	for _, w := range []types.Witness{tx.Witness, tx.PayerWitness} {
		policy, ok := w.(types.WitnessPolicy)
		if !ok {
			continue
		}
		for _, proof := range policy.Proofs {
			switch proof.Evidence.(type) {
			case types.EvidenceP256, types.EvidencePasskey:
				return true
			}
		}
	}
	return false
}

// checkSuspect is check for a suspect's candidates, of which each turn verifies a limited number.
func (v *verifier) checkSuspect(ctx context.Context, batch []*candidate, source string) {
	for len(batch) > 0 {
		give, err := v.turns.Acquire(ctx, source)
		switch {
		case errors.Is(err, semaphore.ErrBusy):
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

func (v *verifier) addSuspect(source string) {
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
	v.p256.close()
}
