package chain

import (
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Account returns an account's record after block h, the zero one where there is none: what [Store.StateAt] shows, for
// one account. Its errors are those of StateAt. A record at the head that was read lately is in memory.
func (s *Store) Account(h types.Height, account types.Account) (state.Account, error) {
	key := state.AccountKey(account)
	if v := s.view.Load(); v != nil && h == v.head.Header.Height {
		if row, ok := s.recent.find(v.number, key); ok {
			return state.DecodeAccount(row)
		}
	}
	st, err := s.StateAt(h)
	if err != nil {
		return state.Account{}, err
	}
	row, err := st.Get(key)
	if err := errors.Join(err, st.Close()); err != nil {
		return state.Account{}, err
	}
	return state.DecodeAccount(row)
}

// A recentValues holds at most recentSlots values, 5 MB with their keys. Neither a key nor a value of it is longer than
// recentBytes: a contract's record with the longest name has 144.
const (
	recentSlots = 1 << 14
	recentBytes = 144
)

// A recentValues has some of the short values that were read at a head, absence too. Each says of which view it is and
// is of no use for another, so that no write has to undo any. A key has one slot; another one may take it.
type recentValues struct {
	seed  maphash.Seed
	slots [recentSlots]atomic.Pointer[recentValue]
}

type recentValue struct {
	view  uint64 // its number
	key   string
	value []byte
}

func (r *recentValues) slot(key []byte) *atomic.Pointer[recentValue] {
	return &r.slots[maphash.Bytes(r.seed, key)%recentSlots]
}

// find returns the value under a key in a view, which nobody may change, and whether it is known.
func (r *recentValues) find(view uint64, key []byte) (value []byte, known bool) {
	if v := r.slot(key).Load(); v != nil && v.view == view && v.key == string(key) {
		return v.value, true
	}
	return nil, false
}

// keep remembers a value, which nobody changes from now on, unless it or its key is long.
func (r *recentValues) keep(view uint64, key, value []byte) {
	if len(key) <= recentBytes && len(value) <= recentBytes {
		r.slot(key).Store(&recentValue{view, string(key), value})
	}
}
