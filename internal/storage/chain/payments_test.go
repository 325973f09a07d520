package chain

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// placed is a payment with its cursor.
type placed struct {
	Payment
	cursor PaymentCursor
}

// naivePayments returns all payments of blocks, found by searching them.
func naivePayments(blocks []toyBlock) (all []placed) {
	for _, b := range blocks {
		for i, tx := range b.block().Transactions {
			p := Position{b.Header.Height, uint32(i)}
			for _, payment := range exec.AppendPayments(nil, &tx.Transaction, &b.Receipts[i]) {
				all = append(all, placed{
					Payment{payment, p, tx.ID()}, PaymentCursor{p, payment.Place, [4]byte(b.hash())},
				})
			}
		}
	}
	return all
}

func samePayments(got, want []placed) bool {
	return slices.EqualFunc(got, want, func(a, b placed) bool { return reflect.DeepEqual(a, b) })
}

func (b toyBlock) hash() []byte {
	hash := b.Header.Hash()
	return hash[:4]
}

// randomPaymentFilter returns a filter of no, some or all accounts, directions and kinds.
func randomPaymentFilter(r *rand.Rand) PaymentFilter {
	f := PaymentFilter{In: r.IntN(3) > 0, Out: r.IntN(3) > 0}
	if r.IntN(4) > 0 {
		f.Accounts = map[types.Account]struct{}{}
		for range r.IntN(toyAccounts) {
			f.Accounts[toyAccount(r.IntN(toyAccounts))] = struct{}{}
		}
	}
	if r.IntN(3) == 0 {
		f.Kinds = exec.PaymentKinds()[:r.IntN(len(exec.PaymentKinds()))]
	}
	return f
}

// matches is a second implementation of a filter.
func (f *PaymentFilter) matches(p placed) bool {
	_, in := f.Accounts[p.To]
	_, out := f.Accounts[p.From]
	return (f.Kinds == nil || slices.Contains(f.Kinds, p.Kind)) && (f.Accounts == nil || f.In && in || f.Out && out)
}

// requirePayments compares random lists of payments with the payments in the blocks.
func requirePayments(t tester, s *Store, c *toyChain, oldest types.Height, r *rand.Rand) {
	t.Helper()
	all, head := naivePayments(c.blocks[oldest:]), c.head()
	height := func() types.Height { return oldest + types.Height(r.Uint64N(uint64(head.Header.Height-oldest)+1)) }
	for range 8 {
		f, in := randomPaymentFilter(r), PaymentRange{Descending: r.IntN(2) == 0, Work: 1 + r.IntN(20)}
		from, to := oldest, head.Header.Height
		if r.IntN(2) == 0 {
			from = height()
			in.From = &from
		}
		if r.IntN(2) == 0 {
			to = height()
			in.To = &to
		}
		var want []placed
		for _, p := range all {
			if from <= p.Height && p.Height <= to && f.matches(p) {
				want = append(want, p)
			}
		}
		if in.Descending {
			slices.Reverse(want)
		}
		if got := s.allPayments(t, f, in, 1+r.IntN(5)); !samePayments(got, want) {
			t.Fatalf("%+v %+v, blocks %d to %d: %d payments %+v, want %d %+v", f, in, from, to, len(got), got, len(want), want)
		}
	}
	for _, b := range c.blocks[oldest:] {
		_, payments, err := s.BlockPayments(b.Header.Height)
		must(t, err)
		want := naivePayments([]toyBlock{b})
		if !slices.EqualFunc(payments, want, func(p Payment, w placed) bool { return reflect.DeepEqual(p, w.Payment) }) {
			t.Fatalf("payments of block %d: %+v, want %+v", b.Header.Height, payments, want)
		}
	}
}

// allPayments reads all pages of a list.
func (s *Store) allPayments(t tester, f PaymentFilter, in PaymentRange, limit int) (all []placed) {
	t.Helper()
	for {
		n := 0
		end, err := s.Payments(context.Background(), f, in, func(p *Payment, h *types.Header, hash types.BlockHash) bool {
			if h.Hash() != hash || h.Height != p.Height {
				t.Fatalf("the header of %+v is %+v, its hash %s", p, h, hash)
			}
			all = append(all, placed{*p, p.Cursor(hash)})
			n++
			return n < limit
		})
		must(t, err)
		if in.After != nil && end.Cursor == *in.After && !end.Complete {
			t.Fatalf("a page after %+v came no further", *in.After)
		}
		in.After = &end.Cursor
		if end.Complete {
			return all
		}
	}
}

// TestPaymentsGoOn reads to the end, and later continues from there: each payment is read once.
func TestPaymentsGoOn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s, c := newStore(t, Options{}, 3)
	f := PaymentFilter{Accounts: map[types.Account]struct{}{toyAccount(0): {}, toyAccount(3): {}}, In: true}
	in, got := PaymentRange{Work: 1000}, []placed(nil)
	for range 20 {
		end, err := s.Payments(t.Context(), f, in, func(p *Payment, _ *types.Header, hash types.BlockHash) bool {
			got = append(got, placed{*p, p.Cursor(hash)})
			return true
		})
		must(t, err)
		if want := EndOfBlock(c.head().Header.Height, c.head().Header.Hash()); !end.Complete || end.Cursor != want {
			t.Fatalf("ended at %+v, want %+v", end, want)
		}
		in.After = &end.Cursor
		must(t, s.Append(c.next(t, r, r.IntN(12))))
	}
	want := slices.DeleteFunc(naivePayments(c.blocks[:len(c.blocks)-1]), func(p placed) bool { return !f.matches(p) })
	if len(want) < 20 || !samePayments(got, want) {
		t.Errorf("%d payments %+v, want %d %+v", len(got), got, len(want), want)
	}
}

func TestPaymentCursorsOfOtherChains(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s, c := newStore(t, Options{Retention: 3}, 9)
	must(t, s.Prune(t.Context()))
	hash := c.blocks[8].Header.Hash()
	kept, taken := EndOfBlock(7, c.blocks[7].Header.Hash()), EndOfBlock(8, hash)
	undo, err := s.Rewind(7)
	must(t, err)
	c.rewind(t, 7, undo)
	ask := func(in PaymentRange) error {
		in.Work = 1
		all := func(*Payment, *types.Header, types.BlockHash) bool { return true }
		_, err := s.Payments(t.Context(), PaymentFilter{}, in, all)
		return err
	}
	height := func(h types.Height) *types.Height { return &h }
	if err := ask(PaymentRange{After: &taken}); !errors.Is(err, ErrAboveHead) {
		t.Errorf("a cursor above the head: error %v, want %v", err, ErrAboveHead)
	}
	must(t, s.Append(c.next(t, r, 5)))
	for name, tc := range map[string]struct {
		in   PaymentRange
		want error
	}{
		"a cursor of a block that was taken back": {PaymentRange{After: &taken}, ErrReverted},
		"backwards":                {PaymentRange{After: &taken, Descending: true}, ErrReverted},
		"a cursor before it":       {PaymentRange{After: &kept}, nil},
		"a cursor that is pruned":  {PaymentRange{After: new(EndOfBlock(5, c.blocks[5].Header.Hash()))}, ErrPruned},
		"heights that are pruned":  {PaymentRange{From: height(5)}, ErrPruned},
		"the last height pruned":   {PaymentRange{To: height(5)}, ErrPruned},
		"the oldest":               {PaymentRange{From: height(6)}, nil},
		"the next block":           {PaymentRange{From: height(9)}, nil},
		"the block after the next": {PaymentRange{From: height(10)}, ErrAboveHead},
		"to above the head":        {PaymentRange{To: height(100)}, nil},
	} {
		if err := ask(tc.in); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	if err := ask(PaymentRange{}); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	end, err := s.Payments(ended, PaymentFilter{}, PaymentRange{Work: 1}, nil)
	if !errors.Is(err, context.Canceled) || end != (PaymentsEnd{}) {
		t.Errorf("cancelled: got %+v, error %v", end, err)
	}
}
