package mempool

import (
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// TestOnAccepted: the callback gets every transaction that Add accepts, once it is in the pool, and none that it
// refuses.
func TestOnAccepted(t *testing.T) {
	c := newChain()
	c.set(1, rich, 0)
	var told []types.TxID
	var p *Pool
	p = openPool(t, c, Options{OnAccepted: func(id types.TxID) {
		if _, ok := p.Get(id); !ok {
			t.Errorf("%s is not in the pool", id)
		}
		told = append(told, id)
	}})
	want := []types.TxID{add(t, p, transfer(1, 0, 100, 5)), add(t, p, transfer(1, 1, 100, 5))}
	refuse(t, p, transfer(1, 0, 100, 5), ErrKnown)
	refuse(t, p, nil, ErrMalformed)
	if !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
}
