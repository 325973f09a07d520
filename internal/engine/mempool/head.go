package mempool

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Head is what the pool judges transactions by: the newest block.
type Head struct {
	Height types.Height // of the newest block
	Env    exec.Env     // of the block after it
	// Account reads a sender from the state after the newest block. It may read a newer state already, whose block
	// [Pool.Reset] then tells. It is called concurrently.
	Account func(types.Account) (exec.Sender, error)
}

// headState is the pool's head, and how the pool came to it.
type headState struct {
	Head
	generation uint64        // counts heads
	since      time.Time     // when Reset told of it
	interval   time.Duration // between the last two blocks
}

// Chain is a chain with a head: a *ledger.Ledger, or a *ledger.Stateless, whose accounts cannot be read.
type Chain interface {
	Tip() *ledger.Tip
	Store() *chain.Store
}

// HeadOf is what the pool must know of a chain's head.
func HeadOf(l Chain) Head { return headOf(l, l.Tip()) }

// HeadAt is what the pool must know of an earlier block of a chain. Its errors are those of [ledger.Ledger.TipAt].
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
		Account: func(a types.Account) (exec.Sender, error) {
			view, err := l.Store().StateAt(height)
			if err != nil {
				return exec.Sender{}, err
			}
			defer view.Close()
			return exec.ReadSender(view, a)
		},
	}
}
