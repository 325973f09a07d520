package operator

import (
	"testing"

	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

func TestSuccessorTakesNames(t *testing.T) {
	store := keystore.Open(t.TempDir())
	alice, contract := types.Account{31: 1}, types.Account{31: 2}
	if _, err := store.AddAlias("alice", types.Regtest, alice); err != nil {
		t.Fatal(err)
	}
	producer := types.Account{31: 3}.String()
	s := datadir.Successor{Network: types.Regtest}
	if err := readSuccessor(&s, store, producer, "alice", []string{contract.String() + "=alice"}); err != nil {
		t.Fatal(err)
	}
	if s.Admin != alice || s.Assigned[contract] != alice {
		t.Errorf("got admin %s and %v, want %s for both", s.Admin, s.Assigned, alice)
	}
	s.Network = types.Mainnet
	if err := readSuccessor(&s, store, producer, "alice", nil); err == nil {
		t.Error("an account of another network was taken")
	}
}
