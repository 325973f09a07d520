package mempool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// TestCounts sends one transaction after another and reads every counter each time: only the right one increases, by
// one.
func TestCounts(t *testing.T) {
	c := newChain()
	c.set(40, 10, 0)
	p := openPool(t, c, Options{MaxTransactions: 10})
	good := transfer(1, 0, 100, 5)
	over := draft(6, 0, 100, 5)
	over.GasLimit = 1_000_000_001
	elsewhere := draft(6, 0, 100, 5)
	elsewhere.ChainID++
	steps := []struct {
		encoded []byte
		source  string
		refused string // the reason's word, or empty
		checked bool   // whether its signature was verified
	}{
		{good, "a", "", true},
		{good, "a", "known", false},
		{transfer(1, 0, 109, 6), "a", "replacement_underpriced", false},
		{nil, "a", "malformed", false},
		{withBadSignature(transfer(2, 0, 100, 5)), "b", "bad_signature", true},
		{sign(6, elsewhere), "a", "wrong_chain", false},
		{transfer(3, math.MaxUint32, 100, 5), "a", "nonce_too_high", false},
		{transfer(40, 0, 100, 5), "a", "cannot_pay", false},
		{transfer(3, 0, 9, 0), "a", "fee_too_low", false},
		{sign(6, over), "a", "invalid", false},
		{transfer(3, 0, 100, 5), "a", "", true},
	}
	for i := range 8 {
		steps = append(steps, steps[0])
		steps[len(steps)-1].encoded = transfer(10+i, 0, 100, 5)
	}
	steps = append(steps, steps[1])
	steps[len(steps)-1].encoded, steps[len(steps)-1].refused = transfer(30, 0, 100, 1), "full"

	for i, step := range steps {
		before := p.Stats()
		_, err := p.Add(t.Context(), step.encoded, step.source)
		if (err == nil) != (step.refused == "") {
			t.Fatalf("step %d: %v", i, err)
		}
		after := p.Stats()
		checkRefusals(t, fmt.Sprint("step ", i), before, after, step.refused, 1)
		accepted, signatures := uint64(0), uint64(0)
		if step.refused == "" {
			accepted = 1
		}
		if step.checked {
			signatures = 1
		}
		if after.Accepted != before.Accepted+accepted || after.SignaturesGood != before.SignaturesGood+accepted ||
			after.SignaturesBad != before.SignaturesBad+signatures-accepted ||
			after.SignatureBatches != before.SignatureBatches+signatures {
			t.Errorf("step %d: %+v after %+v", i, after, before)
		}
		if after.Count != before.Count+int(accepted) || after.Gas != before.Gas+types.Gas(accepted)*testGas ||
			after.Bytes-before.Bytes != int(accepted)*len(step.encoded) {
			t.Errorf("step %d: %+v after %+v", i, after, before)
		}
	}
}

// checkRefusals fails unless only the named counter went up, by n.
func checkRefusals(t *testing.T, what string, before, after Stats, word string, n uint64) {
	t.Helper()
	for name, count := range after.Refused {
		want := before.Refused[name]
		if name == word {
			want += n
		}
		if count != want {
			t.Errorf("%s: %d refused as %s, want %d", what, count, name, want)
		}
	}
	if _, ok := after.Refused[word]; !ok && word != "" {
		t.Errorf("%s: there is no counter for %s", what, word)
	}
}

// TestCountsOfWhatIsNoTransactionsFault counts each transaction of a batch that a closed pool refuses.
func TestCountsOfWhatIsNoTransactionsFault(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	before := p.Stats()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.AddMany(t.Context(), [][]byte{transfer(2, 0, 100, 5), transfer(3, 0, 100, 5)}, "a")
	checkRefusals(t, "closed", before, p.Stats(), "closed", 2)
}

// TestRefusalWords checks the reason for every error of the pool and of the protocol, wrapped as they occur.
func TestRefusalWords(t *testing.T) {
	for err, want := range map[error]string{
		ErrMalformed:              "malformed",
		ErrBadSignature:           "bad_signature",
		ErrKnown:                  "known",
		ErrReplacementUnderpriced: "replacement_underpriced",
		&FullError{}:              "full",
		ErrJournal:                "journal",
		ErrClosed:                 "closed",
		exec.ErrWrongChain:        "wrong_chain",
		exec.ErrNonceTooLow:       "nonce_too_low",
		exec.ErrNonceTooHigh:      "nonce_too_high",
		exec.ErrCannotPay:         "cannot_pay",
		exec.ErrFeeTooLow:         "fee_too_low",
		exec.ErrGasOverBlock:      "invalid",
		exec.ErrPayerCannotPay:    "payer_cannot_pay",
		&PayError{}:               "cannot_pay",
		&PayError{Payer: true}:    "payer_cannot_pay",
		exec.ErrWrongPolicy:       "wrong_policy",
		&exec.AuthorityError{}:    "wrong_policy",
		exec.ErrExpired:           "expired",
		exec.ErrNotAdmin:          "invalid",
		exec.ErrBadPolicy:         "invalid",
		exec.ErrTextTooLong:       "invalid",
		context.DeadlineExceeded:  "other",
		errors.New("a disk"):      "other",
	} {
		if got := refusalOf(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// TestStatsFollowThePool checks the count and age of held transactions, and that included ones are gone.
func TestStatsFollowThePool(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	if s := p.Stats(); s.Count != 0 || s.Oldest != 0 || s.BackPressure || s.Journal != nil || s.JournalBytes != 0 ||
		len(s.Refused) != len(refusals)+2 {
		t.Errorf("of an empty pool: %+v", s)
	}
	first, held := transfer(1, 0, 100, 5), transfer(2, 5, 100, 5)
	add(t, p, first)
	c.pass(time.Minute)
	add(t, p, held)
	if s := p.Stats(); s.Count != 2 || s.Held != 1 || s.Gas != 2*testGas || s.Bytes != len(first)+len(held) ||
		s.Oldest < time.Minute {
		t.Errorf("%+v", s)
	}
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 1}})
	if s := p.Stats(); s.Count != 1 || s.Held != 1 || s.Gas != testGas || s.Bytes != len(held) ||
		s.Oldest >= time.Minute || s.Accepted != 2 {
		t.Errorf("after the block: %+v", s)
	}
}
