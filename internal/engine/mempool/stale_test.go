package mempool

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// A client reads a block before the pool knows it. The pool does not refuse a transaction that this block allows.
func TestRefusesNothingBecauseOfAnOlderState(t *testing.T) {
	const unknown, poor, other = 70, 71, 72
	cases := map[string]struct {
		encoded []byte
		before  error // before the block
		records map[int]state.Account
		env     func(*exec.Env)
	}{
		"entry":   {transfer(unknown, 0, 100, 5), exec.ErrIntrinsicGas, map[int]state.Account{unknown: {Balance: rich}}, nil},
		"balance": {transfer(poor, 0, 100, 5), exec.ErrCannotPay, map[int]state.Account{poor: {Balance: rich}}, nil},
		"payer": {
			sponsor(1, poor, draft(1, 0, 100, 5)), exec.ErrPayerCannotPay,
			map[int]state.Account{poor: {Balance: rich}}, nil,
		},
		"nonce": {
			transfer(2, 2000, 100, 5), exec.ErrNonceTooHigh, map[int]state.Account{2: {Balance: rich, Nonce: 2000}}, nil,
		},
		"authority": {
			transfer(other, 0, 100, 5), exec.ErrWrongPolicy, map[int]state.Account{other: {Balance: rich}}, nil,
		},
		"parameters": {
			transfer(3, 0, 100, 5), exec.ErrFeeTooLow, nil, func(e *exec.Env) { e.Parameters.MinBaseFee = 1 },
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChain()
				c.set(poor, 1, 0)
				policy := authorityOf(policyKey, account(other))
				c.accounts[account(other)] = state.Account{Balance: rich, Authority: &policy}
				c.env.Parameters.MinBaseFee = 2
				if test.env != nil {
					c.env.Parameters.MinBaseFee = 1000
				}
				newest := c.height
				head := c.head()
				head.Newest = func() types.Height { return newest }
				p, err := New(Options{Now: c.now}, head)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				refuse(t, p, test.encoded, test.before)

				newest++ // readers see the next block before the pool is notified
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				added := make(chan error)
				add := func(ctx context.Context) {
					_, err := p.Add(ctx, test.encoded, "test")
					added <- err
				}
				go add(ctx)
				synctest.Wait()
				cancel()
				if err := <-added; !errors.Is(err, test.before) {
					t.Errorf("the client goes before the block: got %v, want %v", err, test.before)
				}
				go add(t.Context())
				synctest.Wait()
				accesses := c.block(test.records)
				if test.env != nil {
					test.env(&c.env)
				}
				next := c.head()
				if err := p.Reset(next, accesses); err != nil {
					t.Fatal(err)
				}
				if err := <-added; err != nil {
					t.Errorf("after the block: got %v, want that it is added", err)
				}
			})
		})
	}
}
