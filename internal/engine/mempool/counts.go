package mempool

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// refusals maps errors to the reasons for refusals in metrics. The first match counts.
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
	{"payer_cannot_pay", exec.ErrPayerCannotPay},
	{"wrong_policy", exec.ErrWrongPolicy},
	{"expired", exec.ErrExpired},
	{"fee_too_low", exec.ErrFeeTooLow},
}

// Reasons for errors that are not in refusals: a violation of another rule of the protocol, or an error that is not the
// transaction's fault.
const (
	refusedInvalid = "invalid"
	refusedOther   = "other"
)

// counts holds the transaction counters since the start. It leaves out replayed transactions.
type counts struct {
	accepted atomic.Uint64
	refused  map[string]*atomic.Uint64 // by reason; complete from the start
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

// add counts the outcomes of candidates.
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

// byClass returns the counters of every class, in the order of classes.
func (c *counts) byClass() []ClassStats {
	now, stats := c.now(), make([]ClassStats, len(classes))
	for i, class := range classes {
		stats[i] = c.rooms[class].stats(class, now)
	}
	return stats
}

// counting returns a verifyFunc that calls verify and counts the results.
func (v *verifier) counting(verify verifyFunc) verifyFunc {
	return func(txs []*types.Tx) []*types.VerifiedTx {
		verified := verify(txs)
		bad := 0
		for _, tx := range verified {
			if tx == nil {
				bad++
			}
		}
		v.batches.Add(1)
		v.bad.Add(uint64(bad))
		v.good.Add(uint64(len(verified) - bad))
		return verified
	}
}
