package replica

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/types"
)

// forwarding runs a test with a pool that hands on, of a replica that follows the first of two sources.
func forwarding(t *testing.T, test func(*fixture, *Forwarder)) {
	t.Helper()
	in(t, 0, 2, func(f *fixture) {
		pool, err := mempool.New(mempool.Options{}, mempool.HeadOf(f.chain))
		check(f.t, err)
		f.start()
		f.pass(time.Second)
		test(f, NewForwarder(f.Replica, pool))
		check(f.t, pool.Close())
	})
}

func encodedPayments(n int) (encoded [][]byte) {
	for i := range n {
		encoded = append(encoded, payment(uint64(i), 1).Encode())
	}
	return encoded
}

// answers is a node that takes what accept says.
func answers(batches *[]int, accept func([]byte) error) func([][]byte) []error {
	return func(encoded [][]byte) []error {
		*batches = append(*batches, len(encoded))
		errs := make([]error, len(encoded))
		for i, b := range encoded {
			errs[i] = accept(b)
		}
		return errs
	}
}

func TestForwardPassesAnswersOn(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		var batches []int
		full := &Refusal{Why: RefusedFull, Err: errors.New("the primary's own words")}
		taken := 0
		f.sources[0].set(func(s *faultySource) {
			s.sent = answers(&batches, func([]byte) error {
				if taken++; taken == 2 {
					return full
				}
				return nil
			})
		})
		encoded := append(encodedPayments(3), []byte("no transaction"))
		results := pool.AddMany(f.t.Context(), encoded, "somebody")
		if results[0].Err != nil || results[0].Tx.ID() != types.TransactionID(encoded[0]) || results[2].Err != nil {
			f.t.Errorf("taken: %+v", results)
		}
		if results[1].Err != error(full) || !errors.Is(results[3].Err, mempool.ErrMalformed) {
			f.t.Errorf("refused: %+v", results)
		}
		if fmt.Sprint(batches) != "[3]" {
			f.t.Errorf("sent in batches of %v", batches)
		}
		// What was taken is found here until a block has it.
		if _, pending := pool.pool.Get(results[0].Tx.ID()); !pending || pool.pool.Stats().Count != 2 {
			f.t.Errorf("%+v are pending", pool.pool.Stats())
		}
		if next, err := pool.pool.NextNonce(alice.PublicKey()); err != nil || next != 1 {
			f.t.Errorf("the next nonce is %d, %v", next, err)
		}
		batches = nil
		pool.AddMany(f.t.Context(), encodedPayments(2*forwardItems+1), "somebody")
		if fmt.Sprint(batches) != fmt.Sprintf("[%d %d 1]", forwardItems, forwardItems) {
			f.t.Errorf("many are sent in batches of %v", batches)
		}
	})
}

func TestForwardTriesAnotherUpstream(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		var first, second []int
		f.sources[0].set(func(s *faultySource) { s.sent = answers(&first, func([]byte) error { return errDropped }) })
		f.sources[1].set(func(s *faultySource) { s.sent = answers(&second, func([]byte) error { return nil }) })
		if r := pool.AddMany(f.t.Context(), encodedPayments(1), ""); r[0].Err != nil || len(first) != 1 || len(second) != 1 {
			f.t.Errorf("%+v after %v and %v", r, first, second)
		}
		f.sources[1].set(func(s *faultySource) { s.sent = answers(&second, func([]byte) error { return errDropped }) })
		r := pool.AddMany(f.t.Context(), encodedPayments(2), "")
		var elsewhere *ElsewhereError
		if !errors.Is(r[1].Err, ErrNoPrimary) || !errors.As(r[1].Err, &elsewhere) || elsewhere.Primary != "source 0" {
			f.t.Errorf("%+v", r)
		}
	})
}

// TestForwardIsBounded refuses more than so many requests at a time.
func TestForwardIsBounded(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		release := make(chan struct{})
		f.sources[0].set(func(s *faultySource) {
			s.sent = func(encoded [][]byte) []error {
				<-release
				return make([]error, len(encoded))
			}
		})
		results, payments := make(chan mempool.Result, maxForwards), encodedPayments(maxForwards+1)
		for i := range maxForwards {
			go func() { results <- pool.AddMany(f.t.Context(), payments[i:i+1], "")[0] }()
		}
		synctest.Wait()
		if r := pool.AddMany(f.t.Context(), payments[maxForwards:], "")[0]; !errors.Is(r.Err, ErrBusy) {
			f.t.Errorf("one too many: %v", r.Err)
		}
		close(release)
		for range maxForwards {
			if r := <-results; r.Err != nil {
				f.t.Errorf("%+v", r)
			}
		}
	})
}

// TestForwardInACircle: what comes back from an upstream that takes this node for the one that makes blocks is refused, and
// so its own answer tells.
func TestForwardInACircle(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		circles := 0
		f.sources[0].set(func(s *faultySource) {
			s.sent = func(encoded [][]byte) (errs []error) {
				circles++
				for _, r := range pool.AddMany(f.t.Context(), encoded, "upstream") {
					errs = append(errs, &Refusal{Why: RefusedBusy, Err: r.Err}) // as over the wire
				}
				return errs
			}
		})
		if r := pool.AddMany(f.t.Context(), encodedPayments(1), "")[0]; !errors.Is(r.Err, ErrBusy) || circles != 1 {
			f.t.Errorf("after %d circles: %v", circles, r.Err)
		}
		f.sources[0].set(func(s *faultySource) { s.sent = func(encoded [][]byte) []error { return make([]error, len(encoded)) } })
		if r := pool.AddMany(f.t.Context(), encodedPayments(1), "")[0]; r.Err != nil {
			f.t.Errorf("once the upstream makes blocks: %v", r.Err)
		}
	})
}

// TestHandOn tells what is to be sent again from what an upstream has decided about.
func TestHandOn(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		refusal := func(why RefusalKind) error { return &Refusal{Why: why, Err: errors.New("the test")} }
		for _, c := range []struct {
			answer error
			again  bool
			failed bool
		}{
			{nil, false, false}, {refusal(RefusedKnown), false, false}, {refusal(RefusedForGood), false, true}, {refusal(RefusedFailed), false, true},
			{refusal(RefusedFull), true, true}, {refusal(RefusedBusy), true, true}, {refusal(RefusedReadOnly), true, true}, {errDropped, true, true},
		} {
			for i := range f.sources {
				f.sources[i].set(func(s *faultySource) { s.sent = func([][]byte) []error { return []error{c.answer} } })
			}
			errs, again := pool.HandOn(f.t.Context(), encodedPayments(1))
			if again[0] != c.again || (errs[0] != nil) != c.failed {
				f.t.Errorf("answered with %v: %v, again %v", c.answer, errs[0], again[0])
			}
		}
	})
}

func TestRefuse(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		for _, r := range NewRefuser(f.Replica).AddMany(f.t.Context(), encodedPayments(2), "") {
			var elsewhere *ElsewhereError
			if !errors.Is(r.Err, ErrReadOnly) || !errors.As(r.Err, &elsewhere) || elsewhere.Primary != "source 0" {
				f.t.Errorf("%+v", r)
			}
		}
	})
}
