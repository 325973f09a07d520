package ledger

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/flat"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// checkMemory compares a ledger's memory with its store: it has all values of the head's state and no others.
func checkMemory(t testing.TB, l *Ledger) {
	t.Helper()
	view, err := l.store.HeadState()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	rows, err := view.Values(types.MaxStorageValueBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []types.Access
	for read, err := rows.NextRows(); len(read) > 0 || err != nil; read, err = rows.NextRows() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, read...)
	}
	for _, row := range all {
		value, known := l.values.Get(row.Key)
		if short := len(row.New) <= flat.Short; known != short || short && !bytes.Equal(value, row.New) {
			t.Fatalf("block %d: key %x: %x in memory, known: %t; %x on disk", view.Height(), row.Key, value, known, row.New)
		}
		if read, err := l.reader(view).Get(row.Key); err != nil || !bytes.Equal(read, row.New) {
			t.Fatalf("block %d: key %x: read %x, %v; %x on disk", view.Height(), row.Key, read, err, row.New)
		}
		if read, err := l.reader(view).Get(append(row.Key, 0)); err != nil || read != nil {
			t.Fatalf("block %d: key %x and a byte: read %x, error %v", view.Height(), row.Key, read, err)
		}
	}
	if l.values.Len() != len(all) {
		t.Fatalf("block %d: %d keys in memory, %d on disk", view.Height(), l.values.Len(), len(all))
	}
}

// missing is a store that has lost the values that are not cached.
type missing struct{}

func (missing) Get([]byte) ([]byte, error) { return nil, nil }

func TestReaderMissesALongValue(t *testing.T) {
	values, err := flat.New()
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("key")
	values.Apply([]types.Access{{Key: key, New: bytes.Repeat([]byte{1}, flat.Short+1)}})
	if value, err := (&memory{values: values}).reader(missing{}).Get(key); err == nil {
		t.Errorf("a long value that the store does not have reads as %x", value)
	}
}

// TestOpenRefusesAKeyWithoutLeaf restarts on a store whose state has a key that its tree lacks.
func TestOpenRefusesAKeyWithoutLeaf(t *testing.T) {
	disk := kv.NewCrashDisk()
	store, db := openStore(t, disk)
	g := testGenesis(t)
	if _, err := Open(store, &g, nil, nil); err != nil {
		t.Fatal(err)
	}
	batch := db.NewBatch(0)
	batch.Set([]byte("s\x03more"), []byte{1})
	if err := db.Commit(batch, true); err != nil {
		t.Fatal(err)
	}
	closeStore(t, store, db)
	store, db = openStore(t, disk)
	defer closeStore(t, store, db)
	if _, err := Open(store, nil, nil, nil); !errors.Is(err, ErrRoot) || !errors.Is(err, chain.ErrCorrupt) {
		t.Errorf("got %v, want %v, which is damage", err, ErrRoot)
	}
}
