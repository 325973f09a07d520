package chain

import (
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Account returns an account's record after block h, the zero one where there is none: what [Store.StateAt] shows, for
// one account. Its errors are those of StateAt. Records at the head that were read lately are in memory.
func (s *Store) Account(h types.Height, account types.Account) (state.Account, error) {
	if v := s.view.Load(); v != nil && h == v.head.Header.Height {
		if record, ok := s.accounts.find(v.number, &account); ok {
			return record, nil
		}
	}
	st, err := s.StateAt(h)
	if err != nil {
		return state.Account{}, err
	}
	row, err := st.Get(state.AccountKey(account))
	if err := errors.Join(err, st.Close()); err != nil {
		return state.Account{}, err
	}
	record, err := state.DecodeAccount(row)
	if err == nil && h == st.view.head.Header.Height {
		s.accounts.keep(st.view.number, account, record)
	}
	return record, err
}

// accountSlots is how many accounts an accountCache holds at most: 1.5 MB.
const accountSlots = 1 << 14

// An accountCache has some of the accounts that were read at a head. Each says of which view it is and is of no use for
// another, so that no write has to undo any. An account has one slot; another one may take it.
type accountCache struct {
	seed  maphash.Seed
	slots [accountSlots]atomic.Pointer[cachedAccount]
}

type cachedAccount struct {
	view    uint64 // its number
	account types.Account
	record  state.Account
}

func (c *accountCache) slot(account *types.Account) *atomic.Pointer[cachedAccount] {
	return &c.slots[maphash.Bytes(c.seed, account[:])%accountSlots]
}

func (c *accountCache) find(view uint64, account *types.Account) (state.Account, bool) {
	if a := c.slot(account).Load(); a != nil && a.view == view && a.account == *account {
		return a.record, true
	}
	return state.Account{}, false
}

func (c *accountCache) keep(view uint64, account types.Account, record state.Account) {
	c.slot(&account).Store(&cachedAccount{view, account, record})
}
