package contracttest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/kit/contracttest"
)

func TestRehearsal(t *testing.T) {
	chain := contracttest.New(t)
	alice := chain.Account("alice")
	k := chain.Deploy(alice, counter(), nil)
	r := chain.Rehearse()
	begin := r.Mark()
	increment := func() contracttest.Result { return r.Call(alice.Account, k.ID, "increment", nil, 0) }
	value := func() string { return string(r.View(k.ID, "get", nil).Must(t).Output) }
	first := increment().Must(t)
	between := r.Mark()
	r.Pass(2, 60)
	r.Call(alice.Account, k.ID, "increment", nil, 9).Must(t)
	if value() != "2" || r.Balance(k.Account()) != 9 || r.Balance(alice.Account) != chain.Balance(alice.Account)-9 {
		t.Errorf("after two calls it has %s and %d coins", value(), r.Balance(k.Account()))
	}
	if r.Height() != chain.Height()+3 || r.Time() != chain.Time()+61 {
		t.Errorf("height %d, time %d", r.Height(), r.Time())
	}
	r.Call(alice.Account, k.ID, "fail", nil, 0).Reverts(t, "no")
	if broke := r.Call(alice.Account, k.ID, "increment", nil, 1<<62); broke.Reason != "insufficient_balance" {
		t.Errorf("got %+v, want Reason insufficient_balance", broke)
	}
	r.SetStorage(k.ID, []byte("k"), []byte{7, 0, 0, 0, 0, 0, 0, 0})
	if value() != "7" || r.Storage(k.ID, []byte("k"))[0] != 7 {
		t.Errorf("the counter is at %s after it was set", value())
	}
	if r.Undo(between); value() != "1" || r.Time() != chain.Time()+1 || r.Balance(k.Account()) != 0 {
		t.Errorf("back to %s at %d with %d coins", value(), r.Time(), r.Balance(k.Account()))
	}
	if r.Undo(begin); value() != "0" || count(t, k) != 0 {
		t.Errorf("back to %s, the chain has %d", value(), count(t, k))
	}
	// The other code works on the contract's storage and account.
	r.SetStorage(k.ID, []byte{0}, []byte{0, 0, 2, 0, 'h', 'i', 0, 0})
	other := chain.AddCode(contracts.Adversary())
	if said := r.ViewWith(other, k.ID, "f00", nil).Must(t); string(said.Output) != "hi" {
		t.Errorf("other code says %q", said.Output)
	}
	if value() != "0" {
		t.Error("the contract keeps other code")
	}
	real := k.Call(alice, "increment", json.RawMessage(nil)).Must(t)
	if real.GasUsed != first.GasUsed || !bytes.Equal(real.Output, first.Output) {
		t.Errorf("in a block %+v, rehearsed %+v", real, first)
	}
}
