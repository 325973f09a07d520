package mempool

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// refusals are the words for why transactions are refused. The first error that matches counts.
var refusals = []struct {
	word string
	err  error
}{
	{"malformed", ErrMalformed},
	{"bad_signature", ErrBadSignature},
	{"known", ErrKnown},
	{"replacement_underpriced", ErrReplacementUnderpriced},
	{"full", ErrFull},
	{"set_aside", ErrSetAside},
	{"journal", ErrJournal},
	{"closed", ErrClosed},
	{"wrong_chain", exec.ErrWrongChain},
	{"nonce_too_low", exec.ErrNonceTooLow},
	{"nonce_too_high", exec.ErrNonceTooHigh},
	{"cannot_pay", exec.ErrCannotPay},
	{"fee_too_low", exec.ErrFeeTooLow},
}

// Words for what is in no row of refusals: another rule of the protocol, and what is no fault of the transaction.
const (
	refusedInvalid = "invalid"
	refusedOther   = "other"
)

// counts are what happened to transactions since the start, those of the journal left out.
type counts struct {
	accepted atomic.Uint64
	refused  map[string]*atomic.Uint64 // by word; complete from the start
	rooms    map[Class]*classCounts    // complete from the start
	now      func() time.Time
}

func newCounts(now func() time.Time) *counts {
	c := &counts{
		refused: map[string]*atomic.Uint64{refusedInvalid: {}, refusedOther: {}},
		rooms:   make(map[Class]*classCounts),
		now:     now,
	}
	for _, class := range classes {
		c.rooms[class] = new(classCounts)
	}
	for _, r := range refusals {
		c.refused[r.word] = new(atomic.Uint64)
	}
	return c
}

// add counts what became of candidates.
func (c *counts) add(candidates []*candidate) {
	for _, candidate := range candidates {
		if candidate.err == nil {
			c.accepted.Add(1)
			continue
		}
		c.refused[refusalOf(candidate.err)].Add(1)
		var full *FullError
		if errors.As(candidate.err, &full) {
			c.rooms[full.Class].refuse(c.now())
		}
	}
}

func refusalOf(err error) string {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.word
		}
	}
	if exec.IsInvalid(err) {
		return refusedInvalid
	}
	return refusedOther
}

func (c *counts) refusedByReason() map[string]uint64 {
	m := make(map[string]uint64, len(c.refused))
	for word, n := range c.refused {
		m[word] = n.Load()
	}
	return m
}

// byClass is what happened for want of room, in the order of the classes.
func (c *counts) byClass() []ClassStats {
	now, stats := c.now(), make([]ClassStats, len(classes))
	for i, class := range classes {
		stats[i] = c.rooms[class].stats(class, now)
	}
	return stats
}

// signatureCounts are what was verified since the start.
type signatureCounts struct{ good, bad, batches atomic.Uint64 }

// counting is verify, counted.
func (c *signatureCounts) counting(verify verifyFunc) verifyFunc {
	return func(txs []*types.Tx) []*types.VerifiedTx {
		verified := verify(txs)
		bad := 0
		for _, tx := range verified {
			if tx == nil {
				bad++
			}
		}
		c.batches.Add(1)
		c.bad.Add(uint64(bad))
		c.good.Add(uint64(len(verified) - bad))
		return verified
	}
}
