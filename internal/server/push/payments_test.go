package push

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// page reads a page of payments and compares it: block and amount of each payment, and the height that it has reached.
func (c *client) page(height types.Height, complete bool, payments ...[2]uint64) api.PaymentPage {
	c.t.Helper()
	page := next[api.PaymentPage](c)
	got := [][2]uint64{}
	for _, p := range page.Payments {
		got = append(got, [2]uint64{uint64(p.BlockHeight), uint64(p.Amount)})
	}
	if want := append([][2]uint64{}, payments...); fmt.Sprint(got) != fmt.Sprint(want) || page.Height != height ||
		page.Complete != complete {
		c.t.Errorf("a page of %v up to %d, complete %v; want %v, %d, %v", got, page.Height, page.Complete, want, height,
			complete)
	}
	return page
}

func accounts(numbers ...string) map[string]any { return map[string]any{"accounts": numbers} }

func TestPaymentsOfSomeAccounts(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		one, both := s.connect(t), s.connect(t)
		defer one.close()
		defer both.close()
		one.subscribe("payments", accounts("1"))
		both.subscribe("payments", accounts("1", "2"))
		for _, c := range []*client{one, both} {
			c.page(0, true)
		}
		s.chain.pay(1, 2, 3, 1)
		one.page(1, true, [2]uint64{1, 1}, [2]uint64{1, 4})
		both.page(1, true, [2]uint64{1, 1}, [2]uint64{1, 2}, [2]uint64{1, 4})
		s.chain.pay(2)
		both.page(2, true, [2]uint64{2, 1})
		s.chain.pay(1)
		one.page(3, true, [2]uint64{3, 1})
	})
}

// TestPaymentsResume subscribes again after each page, while blocks are made: past payments come in pages from an
// index, new ones block by block, and each payment once.
func TestPaymentsResume(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		first := s.connect(t)
		first.subscribe("payments", accounts("1"))
		cursor := first.page(0, true).Resume
		first.close()
		synctest.Wait()
		for range 20 {
			s.chain.pay(1, 2)
		}
		for height := types.Height(0); height < 30; {
			c := s.connect(t)
			c.subscribe("payments", map[string]any{"accounts": []string{"1"}, "cursor": cursor})
			c.page(height, false)
			s.chain.pay(2, 1)
			page := next[api.PaymentPage](c)
			for _, p := range page.Payments {
				if height++; p.BlockHeight != height {
					t.Errorf("a payment of block %d, want %d", p.BlockHeight, height)
				}
			}
			cursor = page.Resume
			c.close()
		}
		synctest.Wait() // the last page is still being counted
		if s.chain.pages == 0 {
			t.Error("no page came from the index")
		}
	})
}

// TestPaymentsFromTheMiddleOfABlock resumes after a payment that was not the last of its block.
func TestPaymentsFromTheMiddleOfABlock(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		c.subscribe("payments", accounts("1"))
		c.page(0, true)
		s.chain.pay(1, 1, 1)
		page := c.page(1, true, [2]uint64{1, 1}, [2]uint64{1, 2}, [2]uint64{1, 3})
		c.close()
		c = s.connect(t)
		defer c.close()
		c.subscribe("payments", map[string]any{"accounts": []string{"1"}, "cursor": page.Payments[1].Cursor})
		c.page(1, false)
		c.page(1, true, [2]uint64{1, 3})
	})
}

// TestMatchingTakesATurn: a subscription compares either every account of its filter with a block, or every payment of
// the block with its filter, whichever are fewer.
func TestMatchingTakesATurn(t *testing.T) {
	for _, tc := range []struct{ accounts, payments, turns int }{
		{0, freeMatches, 0}, {0, freeMatches + 1, 1}, {freeMatches, freeMatches + 1, 0}, {freeMatches + 1, freeMatches, 0},
		{freeMatches + 1, freeMatches + 1, 1},
	} {
		u := &turns{}
		feed := &paymentFeed{subscription: &subscription{connection: &connection{server: &Server{config: Config{Ticket: u.ticket}}}}}
		for i := range tc.accounts {
			if feed.filter.Accounts == nil {
				feed.filter.Accounts = map[types.Account]struct{}{}
			}
			feed.filter.Accounts[types.Account{byte(i >> 8), byte(i)}] = struct{}{}
		}
		b := &blockPayments{payments: make([]chain.Payment, tc.payments), parties: func() []party { return nil }}
		if _, err := feed.matching(t.Context(), b); err != nil || u.begun != tc.turns {
			t.Errorf("%d accounts, %d payments: got %d turns and error %v, want %d", tc.accounts, tc.payments, u.begun, err, tc.turns)
		}
	}
}

func TestPaymentsOfALargeBlock(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.subscribe("payments", accounts("1"))
		c.page(0, true)
		s.chain.pay(make([]byte, 10)...)
		all := make([]byte, 2*api.MaxPayments+1)
		for i := range all {
			all[i] = 1
		}
		s.chain.pay(all...)
		amount := api.Quantity(0)
		for _, want := range []int{api.MaxPayments, api.MaxPayments, 1} {
			page := next[api.PaymentPage](c)
			if len(page.Payments) != want || page.Complete != (want == 1) || page.Height != 2 {
				t.Errorf("%d payments up to %d, complete %v", len(page.Payments), page.Height, page.Complete)
			}
			for _, p := range page.Payments {
				if amount++; p.Amount != amount {
					t.Errorf("payment %d has the amount %d", amount, p.Amount)
				}
			}
		}
	})
}

// TestPaymentsOfAQuietAccount has no payments for a long time: the subscriber is notified of the progress anyway.
func TestPaymentsOfAQuietAccount(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.subscribe("payments", accounts("1"))
		c.page(0, true)
		for range quietBlocks {
			s.chain.pay(2)
			synctest.Wait()
		}
		c.page(quietBlocks, true)
		s.chain.pay(1)
		c.page(quietBlocks+1, true, [2]uint64{quietBlocks + 1, 1})
	})
}

// TestPaymentsThatAreTakenBack ends subscriptions to reverted payments, even if other blocks replace theirs before the
// server checks.
func TestPaymentsThatAreTakenBack(t *testing.T) {
	for name, after := range map[string]int{"fewer blocks": 0, "as many": 1, "more": 2, "many more": 30} {
		t.Run(name, func(t *testing.T) {
			serve(t, Config{}, func(t *testing.T, s *site) {
				c := s.connect(t)
				c.subscribe("payments", accounts("1"))
				c.page(0, true)
				s.chain.pay(1)
				cursor := c.page(1, true, [2]uint64{1, 1}).Resume
				s.chain.pay(1)
				c.page(2, true, [2]uint64{2, 1})
				synctest.Wait()
				s.chain.revert(1)
				for range after {
					s.chain.pay(2, 1)
				}
				closed := c.reason()
				if closed.Code != websocket.StatusPolicyViolation || closed.Reason != "the chain was taken back" {
					t.Errorf("closed with %v", closed)
				}
				c = s.connect(t)
				defer c.close()
				c.subscribe("payments", map[string]any{"accounts": []string{"1"}, "cursor": cursor})
				c.page(1, after == 0)
			})
		})
	}
}
