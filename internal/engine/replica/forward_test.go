package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// forwarding runs a test with a forwarding pool, of a replica that follows the first of two sources.
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

// answers is a node whose reply to transactions accept determines.
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
		if results[0].Err != nil || results[0].Tx.ID() != idOf(encoded[0]) || results[2].Err != nil {
			f.t.Errorf("taken: got %+v", results)
		}
		if results[1].Err != error(full) || !errors.Is(results[3].Err, mempool.ErrMalformed) {
			f.t.Errorf("refused: got %+v", results)
		}
		if fmt.Sprint(batches) != "[3]" {
			f.t.Errorf("sent in batches of %v", batches)
		}
		// An accepted transaction is found here until a block has it.
		if _, pending := pool.pool.Get(results[0].Tx.ID()); !pending || pool.pool.Stats().Count != 2 {
			f.t.Errorf("%+v are pending", pool.pool.Stats())
		}
		if next, err := pool.pool.NextNonce(alice.PublicKey()); err != nil || next != 1 {
			f.t.Errorf("the next nonce is %d, want 1, error %v", next, err)
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
			f.t.Errorf("got %+v", r)
		}
	})
}

// TestForwardIsBounded has one client take all its slots and all its places in the queue.
func TestForwardIsBounded(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		release := make(chan struct{})
		var mu sync.Mutex
		sending := 0
		f.sources[0].set(func(s *faultySource) {
			s.sent = func(encoded [][]byte) []error {
				mu.Lock()
				sending++
				mu.Unlock()
				<-release
				return make([]error, len(encoded))
			}
		})
		most := clientForwards + waitingForwards
		results, payments := make(chan mempool.Result, most+1), encodedPayments(most+2)
		send := func(ctx context.Context, i int, client string) {
			go func() { results <- pool.AddMany(ctx, payments[i:i+1], client)[0] }()
			synctest.Wait()
		}
		ctx, leave := context.WithCancel(f.t.Context())
		for i := range most {
			send(ctx, i, "many")
		}
		if sending != clientForwards {
			f.t.Errorf("%d of one client are forwarded at a time, want %d", sending, clientForwards)
		}
		if r := pool.AddMany(f.t.Context(), payments[most:most+1], "many")[0]; !errors.Is(r.Err, ErrBusy) {
			f.t.Errorf("one too many: got error %v, want ErrBusy", r.Err)
		}
		send(f.t.Context(), most+1, "other")
		if sending != clientForwards+1 {
			f.t.Errorf("%d are forwarded with another client's, want %d", sending, clientForwards+1)
		}
		leave() // waiting requests are dropped
		synctest.Wait()
		close(release)
		synctest.Wait()
		if sending != clientForwards+1 {
			f.t.Errorf("%d were forwarded after the client had gone, want %d", sending, clientForwards+1)
		}
		for range most + 1 {
			<-results
		}
	})
}

// TestForwardVerifiesFirst sends valid transactions mixed with ones that no producer would accept, as clients do. Only
// the valid ones reach the upstream, all of them.
func TestForwardVerifiesFirst(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		taken := newRecorder()
		f.sources[0].set(func(s *faultySource) { s.sent = taken.take })
		extend(f.t, f.primary, 1) // together with alice's first payment
		f.pass(10 * time.Second)
		check(f.t, pool.pool.Reset(mempool.HeadOf(f.chain), accessesOf(f.t, f.chain, 1)))
		changed := func(change func(*types.Transaction)) []byte {
			tx := payment(5, 1).Transaction
			change(&tx)
			signed, err := types.Sign(tx, alice, [32]byte{})
			check(f.t, err)
			return signed.Encode()
		}
		forged := payment(5, 1).Encode()
		forged[len(forged)-2] ^= 1 // followed by the option of a payer
		bad := []struct {
			encoded []byte
			want    error
		}{
			{[]byte("garbage"), mempool.ErrMalformed},
			{forged, mempool.ErrBadSignature},
			{changed(func(tx *types.Transaction) { tx.ChainID++ }), exec.ErrWrongChain},
			{payment(0, 9).Encode(), exec.ErrNonceTooLow},
			{changed(func(tx *types.Transaction) { tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 1, 1 }), exec.ErrFeeTooLow},
			{changed(func(tx *types.Transaction) { tx.GasLimit = 1 }), exec.ErrIntrinsicGas},
		}
		payments := encodedPayments(201)[1:]
		for i, encoded := range payments {
			for _, b := range bad {
				if r := pool.AddMany(f.t.Context(), [][]byte{b.encoded}, "attacker")[0]; !errors.Is(r.Err, b.want) {
					f.t.Fatalf("got error %v, want %v", r.Err, b.want)
				}
			}
			if r := pool.AddMany(f.t.Context(), [][]byte{encoded}, "honest")[0]; r.Err != nil {
				f.t.Fatalf("payment %d of another client: error %v", i, r.Err)
			}
		}
		if len(taken.sent) != len(payments) {
			f.t.Errorf("the upstream was sent %d transactions, want %d", len(taken.sent), len(payments))
		}
	})
}

// TestForwardWhileBehind forwards transactions that newer parameters, or a payment in a block that is not here yet, may
// allow.
func TestForwardWhileBehind(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		taken := newRecorder()
		f.sources[0].set(func(s *faultySource) { s.sent = taken.take })
		poor := testchain.Key("poor")
		tx := payment(0, 1).Transaction
		tx.Sender, tx.Nonce = poor.PublicKey(), 3_000
		unfunded, err := types.Sign(tx, poor, [32]byte{})
		check(f.t, err)
		tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 1, 1
		cheap, err := types.Sign(tx, poor, [32]byte{})
		check(f.t, err)
		if r := pool.AddMany(f.t.Context(), [][]byte{unfunded.Encode()}, "")[0]; r.Err != nil {
			f.t.Errorf("of an account without a balance here: got error %v, want the upstream's answer", r.Err)
		}
		if r := pool.AddMany(f.t.Context(), [][]byte{cheap.Encode()}, "")[0]; !errors.Is(r.Err, exec.ErrFeeTooLow) {
			f.t.Errorf("under the lowest fee of the head: got error %v, want ErrFeeTooLow", r.Err)
		}
		f.pass(time.Second)
		f.upstreams[0].recordBlock(1_000)
		if r := pool.AddMany(f.t.Context(), [][]byte{cheap.Encode()}, "")[0]; r.Err != nil {
			f.t.Errorf("under the lowest fee, while blocks are missing: got error %v, want the upstream's answer", r.Err)
		}
	})
}

// TestForwardInACircle: a transaction that returns from an upstream, which takes this node for the producer's, is
// refused, and the answer to it says so.
func TestForwardInACircle(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		circles := 0
		f.sources[0].set(func(s *faultySource) {
			s.sent = func(encoded [][]byte) (errs []error) {
				circles++
				for _, r := range pool.AddMany(f.t.Context(), encoded, "upstream") {
					errs = append(errs, &Refusal{Why: RefusedBusy, Err: r.Err}) // as decoded from the answer
				}
				return errs
			}
		})
		if r := pool.AddMany(f.t.Context(), encodedPayments(1), "")[0]; !errors.Is(r.Err, ErrBusy) || circles != 1 {
			f.t.Errorf("after %d circles: error %v", circles, r.Err)
		}
		f.sources[0].set(func(s *faultySource) {
			s.sent = func(encoded [][]byte) []error { return make([]error, len(encoded)) }
		})
		if r := pool.AddMany(f.t.Context(), encodedPayments(1), "")[0]; r.Err != nil {
			f.t.Errorf("once the upstream makes blocks: error %v", r.Err)
		}
	})
}

// A transaction about which an upstream has not decided is sent again.
func TestResendGoesByTheAnswer(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		refusal := func(why RefusalKind) error { return &Refusal{Why: why, Err: errors.New("the test")} }
		txs := types.VerifyWitnesses(types.Regtest, types.NewTxs(payment(0, 1)))
		for _, c := range []struct {
			answer  error
			decided bool
		}{
			{nil, true}, {refusal(RefusedKnown), true}, {refusal(RefusedForGood), true}, {refusal(RefusedFailed), true},
			{refusal(RefusedUsed), true},
			{refusal(RefusedFull), false}, {refusal(RefusedBusy), false}, {refusal(RefusedReadOnly), false}, {errDropped, false},
		} {
			for i := range f.sources {
				f.sources[i].set(func(s *faultySource) { s.sent = func([][]byte) []error { return []error{c.answer} } })
			}
			clear(pool.at)
			if decided := pool.resend(f.t.Context(), txs); decided != c.decided || len(pool.at) == 1 != c.decided {
				f.t.Errorf("answered with %v: decided %t, %d are noted", c.answer, decided, len(pool.at))
			}
		}
	})
}

// recorder is a node that accepts everything and records how often each transaction was sent.
type recorder struct {
	mutex sync.Mutex
	sent  map[types.TxID]int
}

func newRecorder() *recorder { return &recorder{sent: map[types.TxID]int{}} }

func (r *recorder) take(encoded [][]byte) []error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, b := range encoded {
		r.sent[idOf(b)]++
	}
	return make([]error, len(encoded))
}

func (r *recorder) times(id types.TxID) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.sent[id]
}

// Forwarded transactions that are in no block are resent: once to a new upstream, and to one that is reachable again.
// An upstream without interruption gets them only after a while. Transactions in a block are not resent.
func TestForwardedIsSentAgain(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		first, second := newRecorder(), newRecorder()
		f.sources[0].set(func(s *faultySource) { s.sent = first.take })
		f.sources[1].set(func(s *faultySource) { s.sent = second.take })
		var ids []types.TxID
		for _, r := range pool.AddMany(f.t.Context(), encodedPayments(3), "somebody") {
			check(f.t, r.Err)
			ids = append(ids, r.Tx.ID())
		}
		ctx, end := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pool.Resend(ctx) }()
		want := func(what string, firsts, seconds [3]int) {
			f.t.Helper()
			for i, id := range ids {
				if a, b := first.times(id), second.times(id); a != firsts[i] || b != seconds[i] {
					f.t.Errorf("%s: payment %d was sent %d and %d times, not %d and %d", what, i, a, b, firsts[i], seconds[i])
				}
			}
		}
		f.pass(time.Minute)
		want("all is well", [3]int{1, 1, 1}, [3]int{})

		extend(f.t, f.primary, 1) // together with the first payment
		f.pass(10 * time.Second)
		check(f.t, pool.pool.Reset(mempool.HeadOf(f.chain), accessesOf(f.t, f.chain, 1)))
		gone := func() error { return errDropped }
		f.sources[0].set(func(s *faultySource) {
			s.fault, s.sent = gone, func([][]byte) []error { return []error{errDropped} }
		})
		f.pass(30 * time.Second)
		want("the upstream is gone", [3]int{1, 1, 1}, [3]int{0, 1, 1})

		f.sources[1].set(func(s *faultySource) { s.fault = gone })
		f.pass(30 * time.Second)
		f.sources[1].set(func(s *faultySource) { s.fault = nil })
		f.pass(30 * time.Second)
		want("the other was away, too", [3]int{1, 1, 1}, [3]int{0, 2, 2})

		f.pass(resendAfter + resendLook)
		want("for long nothing happens", [3]int{1, 1, 1}, [3]int{0, 3, 3})
		end()
		check(f.t, <-ended)
	})
}

// accessesOf returns the keys that a block read and wrote.
func accessesOf(t *testing.T, l *ledger.Ledger, height types.Height) []types.Access {
	t.Helper()
	accesses, err := l.Store().Accesses(height)
	check(t, err)
	return accesses
}

func TestRefuse(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		for _, r := range NewRefuser(f.Replica).AddMany(f.t.Context(), encodedPayments(2), "") {
			var elsewhere *ElsewhereError
			if !errors.Is(r.Err, ErrReadOnly) || !errors.As(r.Err, &elsewhere) || elsewhere.Primary != "source 0" {
				f.t.Errorf("got %+v", r)
			}
		}
	})
}

// A transaction that an upstream already knows is kept here too: the answer to an earlier try may have been lost.
func TestKnownIsKept(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		f.sources[0].set(func(s *faultySource) {
			s.sent = func([][]byte) []error {
				return []error{&Refusal{Why: RefusedKnown, Err: errors.New("the test")}}
			}
		})
		if r := pool.AddMany(f.t.Context(), encodedPayments(1), "")[0]; refusal(r.Err) == nil {
			f.t.Errorf("the answer is %v", r.Err)
		}
		if n := pool.pool.Stats().Count; n != 1 {
			f.t.Errorf("%d are kept", n)
		}
	})
}

// Forwarded transactions are resent to an upstream even after a short interruption: it may have restarted and lost
// them.
func TestForwardedIsSentAgainAfterAMoment(t *testing.T) {
	for name, lose := range map[string]func(*fixture){
		"it stops pushing": func(f *fixture) {
			f.sources[0].set(func(s *faultySource) {
				s.pushes = false
				close(s.lost)
			})
		},
		"one question fails": func(f *fixture) {
			var failed atomic.Bool
			f.sources[0].set(func(s *faultySource) {
				s.pushes = false
				s.fault = func() error {
					if failed.Swap(true) {
						return nil
					}
					return errDropped
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			forwarding(t, func(f *fixture, pool *Forwarder) {
				taken := newRecorder()
				f.sources[0].set(func(s *faultySource) { s.sent, s.pushes, s.lost = taken.take, true, make(chan struct{}) })
				f.pass(2 * watchAgain)
				r := pool.AddMany(f.t.Context(), encodedPayments(1), "somebody")[0]
				check(f.t, r.Err)
				ctx, end := context.WithCancel(f.t.Context())
				ended := make(chan error, 1)
				go func() { ended <- pool.Resend(ctx) }()
				f.pass(1500 * time.Millisecond) // no block comes or is pushed
				if n := taken.times(r.Tx.ID()); n != 1 {
					f.t.Errorf("it was sent %d times before", n)
				}
				lose(f)
				f.pass(10 * time.Second)
				if n := taken.times(r.Tx.ID()); n != 2 {
					f.t.Errorf("it was sent %d times in all", n)
				}
				end()
				check(f.t, <-ended)
			})
		})
	}
}

// A transaction that an upstream accepts just before it ends is sent again, even if its answer is read after its end
// was noticed.
func TestForwardedAsTheUpstreamEndsIsSentAgain(t *testing.T) {
	forwarding(t, func(f *fixture, pool *Forwarder) {
		taken, lost := newRecorder(), make(chan struct{})
		end := sync.OnceFunc(func() {
			<-time.After(time.Millisecond)
			f.sources[0].set(func(s *faultySource) {
				s.pushes = false
				close(lost)
			})
			<-time.After(100 * time.Millisecond)
		})
		f.sources[0].set(func(s *faultySource) {
			s.pushes, s.lost = true, lost
			s.sent = func(encoded [][]byte) []error {
				end()
				return taken.take(encoded)
			}
		})
		f.pass(2 * watchAgain)
		extend(f.t, f.primary, 1)
		f.pass(1500 * time.Millisecond)
		ctx, stop := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pool.Resend(ctx) }()
		r := pool.AddMany(f.t.Context(), encodedPayments(1), "somebody")[0]
		check(f.t, r.Err)
		f.pass(resendLook + 2*resendPause)
		if n := taken.times(r.Tx.ID()); n != 2 {
			f.t.Errorf("it was sent %d times", n)
		}
		stop()
		check(f.t, <-ended)
	})
}

// TestDrain drains the pool to a node that accepts transactions, the oldest first, but only while this node neither
// follows nor produces. They are resent if that node may have lost them, unless a block there has them.
func TestDrain(t *testing.T) {
	in(t, 0, 2, func(f *fixture) {
		pool, err := mempool.New(mempool.Options{}, mempool.HeadOf(f.chain))
		check(f.t, err)
		encoded := encodedPayments(3)
		for _, r := range pool.AddMany(f.t.Context(), encoded, "somebody") {
			check(f.t, r.Err)
		}
		var mu sync.Mutex
		answer := errDropped
		var refused int
		var order []types.TxID
		// seen returns the transactions that the sources received since the last call, and sets their answer from now
		// on.
		seen := func(next error) (sent []types.TxID, refusals int) {
			mu.Lock()
			defer mu.Unlock()
			sent, refusals, order, answer = order, refused, nil, next
			return sent, refusals
		}
		f.sources[0].sent = func(batch [][]byte) []error {
			mu.Lock()
			defer mu.Unlock()
			refused++
			return slices.Repeat([]error{&Refusal{Why: RefusedReadOnly, Err: errors.New("the test")}}, len(batch))
		}
		f.sources[1].sent = func(batch [][]byte) []error {
			mu.Lock()
			defer mu.Unlock()
			for _, b := range batch {
				order = append(order, idOf(b))
			}
			return slices.Repeat([]error{answer}, len(batch))
		}
		var holds atomic.Bool
		ctx, end := context.WithCancel(f.t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Drain(ctx, pool, []Source{f.sources[0], f.sources[1]}, holds.Load, slog.New(slog.DiscardHandler))
		}()
		f.pass(time.Minute)
		if sent, _ := seen(errDropped); len(sent) != 0 {
			f.t.Errorf("%d are sent while it makes blocks", len(sent))
		}
		holds.Store(true)
		f.pass(5 * resendPause)
		if sent, refusals := seen(errDropped); len(sent) < 2*len(encoded) || refusals < 2 {
			f.t.Errorf("%d are sent while nobody is reached", len(sent))
		}
		used := &Refusal{Why: RefusedUsed, Err: errors.New("the test")}
		for _, c := range []struct {
			answer error
			pass   time.Duration
			times  int
		}{
			{nil, time.Minute, 1},       // taken
			{nil, resendAfter, 1},       // and perhaps lost since
			{used, resendAfter, 1},      // it is resent once
			{used, 10 * resendAfter, 0}, // it is in a block
			{errDropped, time.Hour, 0},  // any other error
		} {
			seen(c.answer)
			f.pass(c.pass)
			sent, _ := seen(c.answer)
			if len(sent) != c.times*len(encoded) {
				f.t.Errorf("answered %v, %d were sent in %s, not each %d times", c.answer, len(sent), c.pass, c.times)
			}
			for i, id := range sent {
				if id != idOf(encoded[i%len(encoded)]) {
					f.t.Errorf("%s was sent at place %d", id, i)
				}
			}
		}
		end()
		<-ended
		check(f.t, pool.Close())
	})
}
