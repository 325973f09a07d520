package chain

import (
	"encoding/binary"
	"hash/maphash"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// TestAccountCache keeps more accounts than there are slots: what is found is of the account and the view that were
// asked.
func TestAccountCache(t *testing.T) {
	c := &accountCache{seed: maphash.MakeSeed()}
	account := func(i int) (a types.Account) {
		binary.BigEndian.PutUint64(a[:], uint64(i))
		return a
	}
	const count = 3 * accountSlots
	for i := range count {
		a := account(i)
		c.keep(7, a, state.Account{Nonce: uint64(i)})
		if record, ok := c.find(7, &a); !ok || record.Nonce != uint64(i) {
			t.Fatalf("account %d just kept: %v, %v", i, record, ok)
		}
	}
	found := 0
	for i := range count {
		a := account(i)
		if record, ok := c.find(7, &a); ok {
			if found++; record.Nonce != uint64(i) {
				t.Fatalf("account %d: %v", i, record)
			}
		}
		if _, ok := c.find(8, &a); ok {
			t.Fatalf("account %d is found in a view that it was not read in", i)
		}
	}
	if found < accountSlots/2 || found > accountSlots {
		t.Errorf("%d of %d accounts are found in %d slots", found, count, accountSlots)
	}
}
