package mempool

import (
	"context"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Head is the state by which the pool judges transactions: the state after the newest block.
type Head struct {
	Height types.Height // height of the newest block
	Env    exec.Env     // environment of the block after it
	// Account reads an account from the state after the newest block. It may already return a newer state if
	// [Pool.Reset] is later called for that block. It must be safe for concurrent use.
	Account func(types.Account) (state.Account, error)
	// Newest returns the height of the newest block that clients can read. It is above Height from when a block is on
	// disk until [Pool.Reset] is called for it. It must be safe for concurrent use.
	Newest func() types.Height
}

// behind returns the height of the newest block that clients can read, if the pool does not know that block yet.
func (p *Pool) behind() (newest types.Height, behind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest = p.head.Newest()
	return newest, p.head.Height < newest
}

// reach waits for the block at a height. It returns false if ctx or the pool ends before.
func (p *Pool) reach(ctx context.Context, height types.Height) bool {
	for {
		p.mu.Lock()
		there, moved := p.head.Height >= min(height, p.head.Newest()), p.headMoved // a rewound chain is lower
		p.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		case <-p.done:
			return false
		}
	}
}

// time returns the time by which the pool judges at its head: the clock's, but never before the newest block's.
func (p *Pool) time() uint64 { return max(p.head.Env.Timestamp, milliseconds(p.opts.Clock())) }

// milliseconds returns a time in the unit of timestamps.
func milliseconds(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }

// Chain is a chain with a head: a *ledger.Ledger, or a *ledger.Stateless, whose accounts cannot be read.
type Chain interface {
	Tip() *ledger.Tip
	Store() *chain.Store
}

// HeadOf returns the Head of a chain.
func HeadOf(l Chain) Head { return headOf(l, l.Tip()) }

// HeadAt returns the Head at an earlier block of a chain. Its errors are from [ledger.Ledger.TipAt].
func HeadAt(l *ledger.Ledger, height types.Height) (Head, error) {
	tip, err := l.TipAt(height)
	if err != nil {
		return Head{}, err
	}
	return headOf(l, tip), nil
}

func headOf(l Chain, tip *ledger.Tip) Head {
	height := tip.Header.Header.Height
	return Head{
		Height: height,
		Env:    tip.Env,
		Account: func(a types.Account) (state.Account, error) {
			view, err := l.Store().StateAt(height)
			if err != nil {
				return state.Account{}, err
			}
			defer view.Close()
			return exec.ReadAccount(view, a)
		},
		Newest: func() types.Height { return l.Store().Head().Header.Height },
	}
}
