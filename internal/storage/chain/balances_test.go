package chain

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// oldStore contains the rows of a store of protocol version 1 from which its balances are read, and some others.
func oldStore(t *testing.T, change func(*kv.Batch)) *kv.DB {
	t.Helper()
	db, err := kv.Open("db", kv.Options{FS: kv.Memory()})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	b := db.NewBatch(0)
	b.Set(keyFormat, []byte{0, 0, 0, LastBalancesFormat})
	b.Set(keyHead, encodeHeight(77))
	b.Set(tableState.key(state.SupplyKey()), pairOf(1000, 30))
	b.Set(tableState.key(state.ParametersKey()), []byte("of version 1"))
	b.Set(tableState.key(state.AccountKey(types.Account{1})), pairOf(600, 0))
	b.Set(tableState.key(state.AccountKey(types.Account{2})), pairOf(0, 9)) // nothing left
	b.Set(tableState.key(state.AccountKey(types.Account{3})), pairOf(70, 1<<63))
	b.Set(tableState.key(state.AccountKey(types.Account{4})), pairOf(300, 0))
	b.Set(tableState.key(state.ContractKey(types.ContractID{4})), []byte("a contract of version 1"))
	b.Set(tableState.key(state.StorageKey(types.ContractID{4}, []byte("x"))), []byte("value"))
	if change != nil {
		change(b)
	}
	must(t, db.Commit(b, true))
	return db
}

func pairOf(first, second uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, first), second)
}

func TestReadBalances(t *testing.T) {
	got, err := ReadBalances(oldStore(t, nil))
	must(t, err)
	accounts := []types.Allocation{{Account: types.Account{1}, Balance: 600}, {Account: types.Account{3}, Balance: 70}}
	contracts := []types.Allocation{{Account: types.Account{4}, Balance: 300}}
	if got.Head != 77 || got.Burned != 30 || !slices.Equal(got.Accounts, accounts) ||
		!slices.Equal(got.Contracts, contracts) {
		t.Errorf("got %+v", got)
	}
	for name, c := range map[string]struct {
		change func(*kv.Batch)
		want   error
	}{
		"a store of this version": {func(b *kv.Batch) { b.Set(keyFormat, encodeFormat()) }, ErrNoBalances},
		"no format":               {func(b *kv.Batch) { b.Delete(keyFormat) }, ErrNoBalances},
		"no state":                {func(b *kv.Batch) { b.Set(keyStateless, nil) }, ErrNoBalances},
		"no head":                 {func(b *kv.Batch) { b.Delete(keyHead) }, ErrCorrupt},
		"no supply":               {func(b *kv.Batch) { b.Delete(tableState.key(state.SupplyKey())) }, ErrCorrupt},
		"an account lost": {
			func(b *kv.Batch) { b.Delete(tableState.key(state.AccountKey(types.Account{3}))) }, ErrCorrupt,
		},
		"coins from nowhere": {
			func(b *kv.Batch) { b.Set(tableState.key(state.AccountKey(types.Account{5})), pairOf(1, 0)) }, ErrCorrupt,
		},
		"more than there can be": {
			func(b *kv.Batch) { b.Set(tableState.key(state.AccountKey(types.Account{5})), pairOf(1<<64-1, 0)) }, ErrCorrupt,
		},
		"a record cut off": {
			func(b *kv.Batch) { b.Set(tableState.key(state.AccountKey(types.Account{1})), pairOf(600, 0)[:15]) }, ErrCorrupt,
		},
	} {
		_, err := ReadBalances(oldStore(t, c.change))
		requireIs(t, name, err, c.want)
	}
	s, _ := newStore(t, Options{}, 1)
	_, err = ReadBalances(s.db)
	requireIs(t, "a chain of this version", err, ErrNoBalances)
}
