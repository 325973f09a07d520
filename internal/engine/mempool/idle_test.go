package mempool

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// TestIdleAccountsAreNotReadAgain sends twice from an account whose transactions were included. The second time the
// account is as the block left it, and the chain is not asked.
func TestIdleAccountsAreNotReadAgain(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	add(t, p, transfer(1, 0, 100, 5))
	reset(t, p, c, map[int]state.Account{1: {Balance: rich - 7, Nonce: 1}})
	reset(t, p, c, map[int]state.Account{1: {Balance: rich - 9, Nonce: 3}}) // while it has none pending
	errDisk := errors.New("disk")
	c.readErr = errDisk
	add(t, p, transfer(1, 3, 100, 5))
	if next := nextNonce(t, p, 1); next != 4 {
		t.Errorf("the next nonce is %d", next)
	}
	refuse(t, p, transfer(2, 0, 100, 5), errDisk) // nobody has requested it before
}

// TestIdleIsBounded has more idle accounts than the pool may remember.
func TestIdleIsBounded(t *testing.T) {
	i := make(idle)
	for n := range 2 * maxIdle {
		i.put(types.Account{byte(n), byte(n >> 8), byte(n >> 16)}, state.Account{Nonce: uint64(n)})
	}
	last := types.Account{0xff, 0x7f, 0} // 2 * maxIdle - 1
	if len(i) != maxIdle || i[last].Nonce != 2*maxIdle-1 {
		t.Errorf("%d accounts are remembered, the last as %+v", len(i), i[last])
	}
}
