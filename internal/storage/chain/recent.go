package chain

import (
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Account returns an account's record after block h, or the zero record if there is none. It is like [Store.StateAt]
// for a single account, with the same errors. Records at the head that were read recently are cached.
func (s *Store) Account(h types.Height, account types.Account) (state.Account, error) {
	key := state.AccountKey(account)
	if v := s.view.Load(); v != nil && h == v.head.Header.Height {
		if row, ok := s.recent.find(v.number, key); ok {
			return state.DecodeAccount(account, row)
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
	return state.DecodeAccount(account, row)
}

// A recentValues holds at most recentSlots values, 5 MB including their keys. Neither keys nor values are longer than
// recentBytes: a contract's record with the longest name has 144.
const (
	recentSlots = 1 << 14
	recentBytes = 144
)

// recentValues caches short values, and absences, that were read at a head. An entry is only valid for its view, so
// writes need not invalidate entries. Each key has one slot, which other keys may take over.
type recentValues struct {
	seed  maphash.Seed
	slots [recentSlots]atomic.Pointer[recentValue]
}

type recentValue struct {
	view  uint64 // number of the view
	key   string
	value []byte
}

func (r *recentValues) slot(key []byte) *atomic.Pointer[recentValue] {
	return &r.slots[maphash.Bytes(r.seed, key)%recentSlots]
}

// find returns the cached value of a key in a view, which must not be changed, and whether there is one.
func (r *recentValues) find(view uint64, key []byte) (value []byte, known bool) {
	if v := r.slot(key).Load(); v != nil && v.view == view && v.key == string(key) {
		return v.value, true
	}
	return nil, false
}

// keep caches a value, which must not be changed afterwards, unless it or its key is too long.
func (r *recentValues) keep(view uint64, key, value []byte) {
	if len(key) <= recentBytes && len(value) <= recentBytes {
		r.slot(key).Store(&recentValue{view, string(key), value})
	}
}
