package chain

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

func TestEmptyStore(t *testing.T) {
	s := openStore(t, kv.Memory(), Options{})
	if !s.Empty() || s.Head() != (types.SignedHeader{}) || !s.HeadHash().IsZero() || s.OldestHeight() != 0 {
		t.Errorf("an empty store: empty %v, head %v, oldest %d", s.Empty(), s.Head(), s.OldestHeight())
	}
	if !reflect.DeepEqual(s.Genesis(), types.Genesis{}) {
		t.Errorf("genesis %+v", s.Genesis())
	}
	_, err := s.Header(0)
	requireIs(t, "Header", err, ErrNotFound)
	_, err = s.Block(0)
	requireIs(t, "Block", err, ErrNotFound)
	_, err = s.StateAt(0)
	requireIs(t, "StateAt", err, ErrAboveHead)
	_, err = s.Rewind(0)
	requireIs(t, "Rewind", err, ErrAboveHead)
	_, err = Check(context.Background(), s, nil)
	requireIs(t, "Check", err, ErrNotFound)
	requireIs(t, "Append", s.Append(newToyChain(t).blocks[0].Entry), ErrBadEntry)
	must(t, s.Prune(context.Background()))
}

func requireIs(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestInit(t *testing.T) {
	c := newToyChain(t)
	other := newToyChain(t)
	other.genesis.Time++
	misfit := c.blocks[0].Entry
	misfit.Header.Parent[0] ^= 1
	s := openStore(t, kv.Memory(), Options{})
	requireIs(t, "a header of another genesis", s.Init(c.genesis, misfit), ErrBadEntry)
	if !s.Empty() {
		t.Error("a refused genesis left something")
	}
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	must(t, s.Init(c.genesis, c.blocks[0].Entry)) // a second time changes nothing
	requireIs(t, "another genesis", s.Init(other.genesis, other.blocks[0].Entry), ErrOtherGenesis)
	if s.Empty() || !reflect.DeepEqual(s.Genesis(), c.genesis) || s.Head() != c.blocks[0].Signed() {
		t.Errorf("after Init: empty %v, head %v", s.Empty(), s.Head())
	}
	requireSound(t, s)
}

func TestOpenAgain(t *testing.T) {
	fs, c := kv.Memory(), newToyChain(t)
	s, stop := openUntil(t, fs, Options{})
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	must(t, s.Append(c.next(t, rand.New(rand.NewPCG(1, 2)), 5)))
	head, hash := s.Head(), s.HeadHash()
	stop()
	s, stop = openUntil(t, fs, Options{})
	if s.Empty() || s.Head() != head || s.HeadHash() != hash || !reflect.DeepEqual(s.Genesis(), c.genesis) {
		t.Errorf("opened again: head %v, want %v", s.Head(), head)
	}
	stop()
}

func TestOpenRefuses(t *testing.T) {
	set := func(key, value []byte) func(*kv.Batch) { return func(b *kv.Batch) { b.Set(key, value) } }
	remove := func(key []byte) func(*kv.Batch) { return func(b *kv.Batch) { b.Delete(key) } }
	for name, c := range map[string]struct {
		change func(*kv.Batch)
		want   error
	}{
		"another schedule":     {set(keySchedule, make([]byte, 32)), ErrOtherSchedule},
		"no schedule":          {remove(keySchedule), ErrCorrupt},
		"another format":       {set(keyFormat, []byte{0, 0, 0, format + 1}), ErrOtherFormat},
		"no format":            {remove(keyFormat), ErrCorrupt},
		"no genesis":           {remove(keyGenesis), ErrCorrupt},
		"a broken genesis":     {set(keyGenesis, []byte{1}), ErrCorrupt},
		"no head":              {remove(keyHead), ErrCorrupt},
		"a broken head":        {set(keyHead, []byte{1}), ErrCorrupt},
		"no header of it":      {set(keyHead, encodeHeight(9)), ErrCorrupt},
		"another header there": {set(tableHeaders.atHeight(2), types.SignedHeader{}.Encode()), ErrCorrupt},
		"a broken header":      {set(tableHeaders.atHeight(2), []byte{1}), ErrCorrupt},
		"no oldest":            {remove(keyOldest), ErrCorrupt},
		"oldest above head":    {set(keyOldest, encodeHeight(3)), ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newStore(t, Options{}, 2)
			b := s.db.NewBatch(0)
			c.change(b)
			must(t, s.db.Commit(b, true))
			_, err := Open(s.db, Options{Schedule: toySchedule})
			requireIs(t, "Open", err, c.want)
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Entry){
		"a height too low":      func(e *Entry) { e.Header.Height-- },
		"a height too high":     func(e *Entry) { e.Header.Height++ },
		"another parent":        func(e *Entry) { e.Header.Parent[0] ^= 1 },
		"a receipt too few":     func(e *Entry) { e.Receipts = e.Receipts[1:] },
		"a transaction too few": func(e *Entry) { e.Transactions = e.Transactions[1:] },
		"a receipt of more gas": func(e *Entry) { e.Receipts[0].GasUsed++ },
		"a receipt that failed": func(e *Entry) { e.Receipts[0].Status = 1 - e.Receipts[0].Status },
		"a leaf too few":        func(e *Entry) { e.Leaves = e.Leaves[1:] },
		"a leaf not written":    func(e *Entry) { e.Leaves[0].Key = []byte("other") },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newStore(t, Options{}, 1)
			head := s.Head()
			good := c.next(t, rand.New(rand.NewPCG(3, 4)), 5)
			bad := good
			bad.Receipts = append([]types.Receipt(nil), good.Receipts...)
			bad.Leaves = append([]tree.LeafChange(nil), good.Leaves...)
			spoil(&bad)
			requireIs(t, "Append", s.Append(bad), ErrBadEntry)
			if s.Head() != head {
				t.Error("a refused block moved the head")
			}
			must(t, s.Append(good))
			requireSound(t, s)
		})
	}
}

func TestNotFound(t *testing.T) {
	s, c := newStore(t, Options{}, 3)
	_, err := s.Header(4)
	requireIs(t, "Header", err, ErrNotFound)
	_, err = s.Block(4)
	requireIs(t, "Block", err, ErrNotFound)
	_, err = s.Receipts(4)
	requireIs(t, "Receipts", err, ErrNotFound)
	_, err = s.Accesses(4)
	requireIs(t, "Accesses", err, ErrNotFound)
	_, err = s.HeightOf(types.BlockHash{1})
	requireIs(t, "HeightOf", err, ErrNotFound)
	_, err = s.FindTransaction(types.TxID{1})
	requireIs(t, "FindTransaction", err, ErrNotFound)
	_, err = s.Code(types.CodeHash{1})
	requireIs(t, "Code", err, ErrNotFound)
	_, err = s.StateAt(4)
	requireIs(t, "StateAt", err, ErrAboveHead)
	_, err = s.Rewind(4)
	requireIs(t, "Rewind", err, ErrAboveHead)
	for h, b := range c.blocks {
		_, err = s.Transaction(Position{types.Height(h), uint32(len(b.Transactions))})
		requireIs(t, "the transaction after the last", err, ErrNotFound)
		_, err = s.Transaction(Position{types.Height(h), 1<<32 - 1})
		requireIs(t, "a transaction far out", err, ErrNotFound)
	}
	if found, err := s.ByAccount(types.Account{9}, Position{}, 10); err != nil || len(found) > 0 {
		t.Errorf("ByAccount of a stranger: got %v, error %v", found, err)
	}
}

func TestPruned(t *testing.T) {
	s, c := newStore(t, Options{Retention: 2}, 6)
	gone := c.blocks[3]
	if s.OldestHeight() != 0 {
		t.Errorf("before pruning the oldest is %d, want 0", s.OldestHeight())
	}
	must(t, s.Prune(context.Background()))
	if s.OldestHeight() != 4 {
		t.Errorf("after pruning the oldest is %d, want 4", s.OldestHeight())
	}
	_, err := s.Header(3)
	requireIs(t, "Header", err, ErrPruned)
	_, err = s.Block(0)
	requireIs(t, "Block", err, ErrPruned)
	_, err = s.Receipts(3)
	requireIs(t, "Receipts", err, ErrPruned)
	_, err = s.Accesses(3)
	requireIs(t, "Accesses", err, ErrPruned)
	_, err = s.StateAt(3)
	requireIs(t, "StateAt", err, ErrPruned)
	_, err = s.Rewind(3)
	requireIs(t, "Rewind", err, ErrPruned)
	_, err = s.Transaction(Position{3, 0})
	requireIs(t, "Transaction", err, ErrPruned)
	_, err = s.FindTransaction(gone.Transactions[0].ID())
	requireIs(t, "FindTransaction", err, ErrNotFound)
	_, err = s.HeightOf(gone.Header.Hash())
	requireIs(t, "HeightOf", err, ErrNotFound)
	if h, err := s.Header(0); err != nil || h != c.blocks[0].Signed() {
		t.Errorf("the header of block 0: error %v", err)
	}
	if h, err := s.HeightOf(c.blocks[0].Header.Hash()); err != nil || h != 0 {
		t.Errorf("the height of block 0: got %d, want 0, error %v", h, err)
	}
	requireSound(t, s)
}

func TestPruneStopsWithTheContext(t *testing.T) {
	s, _ := newStore(t, Options{Retention: 1}, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	requireIs(t, "Prune", s.Prune(ctx), context.Canceled)
	if s.OldestHeight() != 0 {
		t.Errorf("the oldest is %d, want 0", s.OldestHeight())
	}
}

func TestArchive(t *testing.T) {
	fs, c := kv.Memory(), newToyChain(t)
	s, stop := openUntil(t, fs, Options{Archive: true})
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	r := rand.New(rand.NewPCG(31, 32))
	for range 4 {
		must(t, s.Append(c.next(t, r, 5)))
	}
	requireSound(t, s)
	stop()
	refused := func(options Options, want error) {
		t.Helper()
		db, err := kv.Open("db", kv.Options{FS: fs})
		must(t, err)
		options.Schedule = toySchedule
		_, err = Open(db, options)
		requireIs(t, "Open", err, want)
		must(t, db.Close())
	}
	refused(Options{Retention: 2}, ErrArchive)
	_, stop = openUntil(t, fs, Options{}) // it stays one when opened in another mode
	stop()
	refused(Options{Retention: 2}, ErrArchive)
	s, stop = openUntil(t, fs, Options{EndArchive: true, Retention: 2})
	must(t, s.Prune(t.Context()))
	requireSound(t, s)
	stop()
	refused(Options{Archive: true}, ErrNoArchive)
}

// TestWholeStoreBecomesAnArchive: a store that was never pruned can become an archive.
func TestWholeStoreBecomesAnArchive(t *testing.T) {
	fs, c := kv.Memory(), newToyChain(t)
	s, stop := openUntil(t, fs, Options{Retention: 10})
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	stop()
	s, stop = openUntil(t, fs, Options{Archive: true})
	must(t, s.Append(c.next(t, rand.New(rand.NewPCG(1, 2)), 5)))
	requireSound(t, s)
	stop()
	db, err := kv.Open("db", kv.Options{FS: fs})
	must(t, err)
	_, err = Open(db, Options{Retention: 10, Schedule: toySchedule})
	requireIs(t, "Open with a retention", err, ErrArchive)
	must(t, db.Close())
}

// TestHalfPruned stops pruning within a block: the rest is invisible, and the next pruning removes it first.
func TestHalfPruned(t *testing.T) {
	s, c := newStore(t, Options{Retention: 2}, 1)
	s.pruneRows = 7
	r := rand.New(rand.NewPCG(21, 22))
	for range 5 {
		must(t, s.Append(c.next(t, r, 30)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := &stopAfter{Context: ctx, left: 5, cancel: cancel}
	requireIs(t, "Prune that is stopped", s.Prune(stop), context.Canceled)
	if half, err := has(s.db, keyHalfPruned); err != nil || !half {
		t.Fatalf("pruning did not stop within a block: error %v", err)
	}
	requireModel(t, s, c, s.OldestHeight(), r)
	requireSound(t, s)
	gone := c.blocks[s.OldestHeight()-1]
	_, err := s.HeightOf(gone.Header.Hash())
	requireIs(t, "HeightOf the block", err, ErrNotFound)
	for _, id := range types.IDs(gone.Transactions) {
		_, err := s.FindTransaction(id)
		requireIs(t, "FindTransaction", err, ErrNotFound)
	}
	must(t, s.Append(c.next(t, r, 30)))
	must(t, s.Prune(t.Context()))
	if half, err := has(s.db, keyHalfPruned); err != nil || half {
		t.Errorf("after pruning to the end: half pruned %v, error %v", half, err)
	}
	requireModel(t, s, c, s.Head().Header.Height-2, r)
	requireSound(t, s)
}

// stopAfter is a context that ends after the given number of calls of Err.
type stopAfter struct {
	context.Context
	left   int
	cancel func()
}

func (s *stopAfter) Err() error {
	if s.left--; s.left == 0 {
		s.cancel()
	}
	return s.Context.Err()
}

// TestStateStays holds states while pruning and rewinding remove their blocks.
func TestStateStays(t *testing.T) {
	s, c := newStore(t, Options{Retention: 1}, 4)
	var states []*State
	for h := range c.blocks {
		st, err := s.StateAt(types.Height(h))
		must(t, err)
		states = append(states, st)
	}
	blocks := c.blocks
	must(t, s.Append(c.next(t, rand.New(rand.NewPCG(5, 6)), 8)))
	must(t, s.Prune(context.Background()))
	_, err := s.Rewind(4)
	must(t, err)
	for h, st := range states {
		if st.Height() != types.Height(h) {
			t.Errorf("state %d says it is of %d, want %d", h, st.Height(), types.Height(h))
		}
		requireState(t, st, blocks[h].state, c)
		must(t, st.Close())
	}
}

// requireState compares a state with a model, over every key that the chain ever had.
func requireState(t tester, st *State, want memory, c *toyChain) {
	t.Helper()
	for _, b := range c.blocks {
		for key := range b.state {
			if got, err := st.Get([]byte(key)); err != nil || !bytes.Equal(got, want[key]) {
				t.Fatalf("state %d, key %x: %x, %v, want %x", st.Height(), key, got, err, want[key])
			}
		}
	}
	if got, err := st.Get([]byte{3, 1}); err != nil || got != nil {
		t.Fatalf("state %d, a key that never was: got %x, error %v", st.Height(), got, err)
	}
	requireCounts(t, st, want, c)
}

// requireCounts compares a state's counts with its keys, one by one.
func requireCounts(t tester, st *State, want memory, c *toyChain) {
	t.Helper()
	var counts Counts
	for key := range want {
		if count := counts.of([]byte(key)); count != nil {
			*count++
		}
	}
	header, got, err := st.Summary()
	if err != nil || got != counts || header != c.blocks[st.Height()].Signed() {
		t.Fatalf("state %d has %+v, %v, want %+v", st.Height(), got, err, counts)
	}
}

func TestLeaves(t *testing.T) {
	s, c := newStore(t, Options{}, 4)
	st, err := s.StateAt(4)
	must(t, err)
	loaded, err := st.Tree(serial)
	must(t, err)
	if loaded.Root() != s.Head().Header.StateRoot || loaded.Len() != len(c.head().state) {
		t.Errorf("loaded %d leaves with the root %s, want %d, %s", loaded.Len(), loaded.Root(), len(c.head().state),
			s.Head().Header.StateRoot)
	}
	// Proofs of presence, and of absence beside another leaf, need the store's value hashes.
	for _, key := range [][]byte{state.SupplyKey(), state.StorageKey(types.ContractID{1}, nil), {3, 1}, {3, 2}, {3, 3}} {
		proof, err := loaded.Prove(key, st.ValueHashAt)
		must(t, err)
		must(t, proof.Verify(loaded.Root(), key, c.head().state[string(key)]))
	}
	_, err = st.ValueHashAt(tree.Path([]byte("nothing")))
	requireIs(t, "the value hash of nothing", err, ErrNotFound)
	must(t, st.Close())

	st, err = s.StateAt(3)
	must(t, err)
	_, err = st.Tree(serial)
	requireIs(t, "leaves below the head", err, ErrPruned)
	_, err = st.ValueHashAt(tree.Path(state.SupplyKey()))
	requireIs(t, "a value hash below the head", err, ErrPruned)
	must(t, st.Close())
}

// TestValues iterates over the values of the head's state, to the end and cut off.
func TestValues(t *testing.T) {
	s, c := newStore(t, Options{}, 4)
	st, err := s.StateAt(4)
	must(t, err)
	for _, most := range []int{1, 20, types.MaxStorageValueBytes} {
		rows, err := st.Values(most)
		must(t, err)
		left := maps.Clone(c.head().state)
		for {
			read, err := rows.NextRows()
			must(t, err)
			if len(read) == 0 {
				break
			}
			for _, row := range read {
				value, found := left[string(row.Key)]
				if want := value[:min(most, len(value))]; !found || !bytes.Equal(row.New, want) {
					t.Errorf("at most %d bytes: key %x has %x, want %x", most, row.Key, row.New, want)
				}
				delete(left, string(row.Key))
			}
		}
		if len(left) > 0 {
			t.Errorf("%d keys are missing", len(left))
		}
		must(t, rows.Close())
	}
	must(t, st.Close())
	st, err = s.StateAt(3)
	must(t, err)
	_, err = st.Values(1)
	requireIs(t, "values below the head", err, ErrPruned)
	must(t, st.Close())
}

// TestLeavesOfMany loads leaves in several parts, and damaged leaves.
func TestLeavesOfMany(t *testing.T) {
	s, _ := newStore(t, Options{}, 1)
	const many = 1000
	b := s.db.NewBatch(0)
	lower, upper := tableLeaves.bounds()
	b.DeleteRange(lower, upper)
	b.Set(tableCounts.atHeight(1), Counts{Accounts: 1 << 30}.encode())
	leafAt := func(i uint32) tree.Leaf {
		return tree.Leaf{Path: poseidon.Digest{i * (poseidon.P / many)}, Digest: poseidon.Digest{i, i}}
	}
	var leaves []tree.Leaf
	for i := range uint32(many) {
		leaf := leafAt(i)
		leaves = append(leaves, leaf)
		path := leaf.Path.Bytes()
		b.Set(tableLeaves.key(path[:]), leafRow{leaf.Digest, []byte("key")}.encode())
	}
	must(t, s.commit(b, true))
	want, err := tree.Load(0, func(int, []tree.Leaf) ([]tree.Leaf, error) { return leaves, nil }, serial)
	must(t, err)
	load := func() (*tree.Tree, error) {
		st, err := s.StateAt(1)
		must(t, err)
		loaded, err := st.Tree(serial)
		must(t, st.Close())
		return loaded, err
	}
	got, err := load()
	must(t, err)
	if got.Root() != want.Root() || got.Len() != many {
		t.Errorf("%d leaves with the root %s, want %d, %s", got.Len(), got.Root(), many, want.Root())
	}
	for _, i := range []uint32{0, many / 2, many - 1} {
		b = s.db.NewBatch(0)
		path := leafAt(i).Path.Bytes()
		b.Set(tableLeaves.key(path[:]), []byte("damage"))
		must(t, s.commit(b, true))
		_, err := load()
		requireIs(t, "a tree with a damaged leaf", err, ErrCorrupt)
	}
}

// TestValuesOfMany iterates over more values than are read at once, to the end and cut off.
func TestValuesOfMany(t *testing.T) {
	s, _ := newStore(t, Options{}, 1)
	const many = 9*rowsAtOnce + 5 // more than is read ahead
	b := s.db.NewBatch(0)
	lower, upper := tableState.bounds()
	b.DeleteRange(lower, upper)
	for i := range uint32(many) {
		b.Set(tableState.key(binary.BigEndian.AppendUint32(nil, i)), []byte{1})
	}
	must(t, s.commit(b, true))
	for _, limit := range []int{0, 1, rowsAtOnce, many, many + 1} {
		st, err := s.StateAt(1)
		must(t, err)
		rows, err := st.Values(1)
		must(t, err)
		got := 0
		for got < limit {
			read, err := rows.NextRows()
			must(t, err)
			if len(read) == 0 {
				break
			}
			for _, row := range read {
				if binary.BigEndian.Uint32(row.Key) != uint32(got) {
					t.Fatalf("key %d is %x", got, row.Key)
				}
				got++
			}
		}
		must(t, rows.Close())
		must(t, st.Close())
		if got < min(limit, many) {
			t.Fatalf("at most %d of %d values: got %d", limit, many, got)
		}
	}
}

func TestRewindToTheHeadChangesNothing(t *testing.T) {
	s, _ := newStore(t, Options{}, 2)
	undo, err := s.Rewind(2)
	if err != nil || len(undo) > 0 || s.Head().Header.Height != 2 {
		t.Errorf("%v, %v, head %d", undo, err, s.Head().Header.Height)
	}
}

func TestClosedStore(t *testing.T) {
	s, c := newStore(t, Options{}, 1)
	_, err := s.Account(1, toyAccount(0))
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())
	_, err = s.Header(0)
	requireIs(t, "Header", err, ErrClosed)
	_, err = s.StateAt(0)
	requireIs(t, "StateAt", err, ErrClosed)
	_, err = s.Account(1, toyAccount(0)) // it is cached
	requireIs(t, "Account", err, ErrClosed)
	requireIs(t, "Append", s.Append(c.next(t, rand.New(rand.NewPCG(1, 1)), 1)), ErrClosed)
	requireIs(t, "Init", s.Init(c.genesis, c.blocks[0].Entry), ErrClosed)
	requireIs(t, "Prune", s.Prune(context.Background()), ErrClosed)
	_, err = s.Rewind(0)
	requireIs(t, "Rewind", err, ErrClosed)
	if !s.Empty() || s.Head() != (types.SignedHeader{}) || !s.HeadHash().IsZero() || s.OldestHeight() != 0 {
		t.Error("a closed store shows a head")
	}
}
