package datadir_test

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// oldDirectory returns a data directory of version 1 of the protocol, with the files from which its balances are read.
func oldDirectory(t *testing.T) string {
	t.Helper()
	path := t.TempDir()
	db, err := kv.Open(filepath.Join(path, "db"), kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pair := func(first, second uint64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, first), second)
	}
	b := db.NewBatch(0)
	b.Set([]byte("mformat"), []byte{0, 0, 0, 6})
	b.Set([]byte("mhead"), []byte{0, 0, 0, 0, 0, 0, 0, 9})
	for key, value := range map[string][]byte{
		string(state.SupplyKey()):                          pair(1000, 30),
		string(state.AccountKey(types.Account{1})):         pair(600, 3),
		string(state.AccountKey(types.Account{2})):         pair(70, 0),
		string(state.AccountKey(types.Account{3})):         pair(300, 0),
		string(state.ContractKey(types.ContractID{3})):     []byte("a contract of version 1"),
		string(state.StorageKey(types.ContractID{3}, nil)): []byte("value"),
		string(state.ParametersKey()):                      []byte("parameters of version 1"),
	} {
		b.Set(append([]byte{'s'}, key...), value)
	}
	if err := errors.Join(db.Commit(b, true), db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// A directory of version 1 of the protocol is refused with the only possible next step: to start a new chain with its
// balances.
func TestOldDirectory(t *testing.T) {
	path := oldDirectory(t)
	_, err := datadir.OpenChain(path, datadir.Options{})
	var message *emergency.Emergency
	if !errors.As(err, &message) || !strings.Contains(message.What, "version 1") ||
		!strings.Contains(message.Next, "cairn db balances --data-dir "+path) || !message.Final {
		t.Fatalf("opening it: error %v", err)
	}
	b, err := datadir.ReadBalances(path)
	if err != nil || b.Head != 9 || len(b.Accounts) != 2 || len(b.Contracts) != 1 {
		t.Fatalf("got %+v, %v, want Head 9 and 2 accounts and 1 contract", b, err)
	}
	key, err := crypto.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := datadir.Successor{
		Network: types.Regtest, ChainID: datadir.RandomChainID(), Time: 1_700_000_000_000, Producer: key.PublicKey(),
		Admin: types.Account{8}, Assigned: map[types.Account]types.Account{{3}: {1}},
	}
	g, err := s.Genesis(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Allocations) != 2 || g.Allocations[0] != (types.Allocation{Account: types.Account{1}, Balance: 900}) ||
		g.Allocations[1] != (types.Allocation{Account: types.Account{2}, Balance: 70}) || g.Parameters.Admin != s.Admin {
		t.Errorf("got %+v", g)
	}
	for _, assigned := range []map[types.Account]types.Account{nil, {{3}: {1}, {2}: {1}}} {
		s.Assigned = assigned
		if _, err := s.Genesis(b); !errors.Is(err, datadir.ErrUnassigned) {
			t.Errorf("assigned %v: error %v, want %v", assigned, err, datadir.ErrUnassigned)
		}
	}
	d, err := datadir.Open(t.TempDir(), datadir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Store(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.ReadBalances(d.Path()); !errors.Is(err, datadir.ErrNoBalances) {
		t.Errorf("of a directory without a chain: error %v, want %v", err, datadir.ErrNoBalances)
	}
}

func TestRandomChainIDs(t *testing.T) {
	seen := make(map[uint64]bool)
	for range 1000 {
		id := datadir.RandomChainID()
		if id < 1<<32 || id >= 1<<48 || seen[id] {
			t.Fatalf("got %d", id)
		}
		seen[id] = true
	}
}
