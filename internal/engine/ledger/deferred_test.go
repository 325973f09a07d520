package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// early defers what a node defers in a large state.
var early = deferral{leaves: 100, outline: 4}

// deferredChain is a chain with a state that is large for early, on a disk.
type deferredChain struct {
	disk    *kv.CrashDisk
	genesis types.Genesis
	db      *kv.DB
	ledger  *Ledger
}

func resident(i int) types.Account { return types.Account{byte(i), byte(i >> 8), 1} }

// newDeferredChain makes the chain, and opens it again with an outline.
func newDeferredChain(t *testing.T) *deferredChain {
	t.Helper()
	c := &deferredChain{disk: kv.NewCrashDisk(), genesis: testGenesis(t)}
	for i := range 300 {
		c.genesis.Allocations = append(c.genesis.Allocations, types.Allocation{Account: resident(i), Balance: 1})
	}
	slices.SortFunc(c.genesis.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	c.open(t)
	c.pay(t, 0, 0)
	c.close(t)
	c.open(t)
	if c.ledger.treeWhole.Load() || c.ledger.values != nil {
		t.Fatal("nothing was deferred")
	}
	return c
}

// open opens the chain with what early defers.
func (c *deferredChain) open(t *testing.T) {
	t.Helper()
	var store *chain.Store
	store, c.db = openStore(t, c.disk)
	var err error
	if c.ledger, err = openWith(store, &c.genesis, nil, nil, early); err != nil {
		t.Fatal(err)
	}
}

func (c *deferredChain) close(t *testing.T) {
	t.Helper()
	if err := c.ledger.Close(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, c.ledger.store, c.db)
}

// pay makes a block with alice's payment of a nonce.
func (c *deferredChain) pay(t *testing.T, nonce uint64, to int) Block {
	t.Helper()
	key := testKey(t, "producer")
	batch := list{transfer(t, "alice", nonce, resident(to), 5)}
	l := c.ledger
	block, err := l.Build(Batch{Time: l.Tip().Header.Header.Timestamp + 1, Transactions: &batch},
		func(h types.BlockHash) (types.Signature, error) { return key.Sign(h[:], [32]byte{}) })
	if err != nil {
		t.Fatal(err)
	}
	if len(block.Included) != 1 {
		t.Fatal("the payment was not included")
	}
	return block
}

func (c *deferredChain) load(t *testing.T) {
	t.Helper()
	if err := c.ledger.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	checkMemory(t, c.ledger)
	whole, err := LoadTree(c.ledger.store)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.Outline(early.outline), c.ledger.tree.Outline(early.outline)) {
		t.Error("the tree's outline is not that of the leaves on disk")
	}
}

// TestLoadBesideBlocks loads the state while blocks are made and keys proven, and then imports the blocks beside the
// loading of another node. Accounts are new, changed, and as they were.
func TestLoadBesideBlocks(t *testing.T) {
	c, follower := newDeferredChain(t), newDeferredChain(t)
	loaded := make(chan error, 2)
	go func() { loaded <- c.ledger.Load(context.Background()) }()
	go func() {
		_, err := c.ledger.Prove(state.AccountKey(resident(7)))
		loaded <- err
	}()
	for i := range 40 {
		c.pay(t, uint64(1+i), 290+i)
	}
	if err := errors.Join(<-loaded, <-loaded); err != nil {
		t.Fatal(err)
	}
	checkMemory(t, c.ledger)
	go func() { loaded <- follower.ledger.Load(context.Background()) }()
	blocks := received(t, c.ledger)
	for blocks = blocks[1:]; len(blocks) > 0; {
		imported, err := follower.ledger.Import(blocks[:min(3, len(blocks))]...)
		if err != nil {
			t.Fatal(err)
		}
		blocks = blocks[len(imported):]
	}
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	checkMemory(t, follower.ledger)
	c.close(t)
	c.open(t)
	c.load(t)
	c.close(t)
	follower.close(t)
}

// TestBlocksWithoutLoad makes blocks before anything is loaded, one of them prepared before a part was, and starts again.
func TestBlocksWithoutLoad(t *testing.T) {
	c := newDeferredChain(t)
	c.pay(t, 1, 1)
	p := propose(t, c.ledger, transfer(t, "alice", 2, resident(2), 5))
	for range 3 {
		if err := c.ledger.loadParts(1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ledger.Release(p, seal(t, "producer", p.Header())); err != nil {
		t.Fatal(err)
	}
	if c.ledger.treeWhole.Load() {
		t.Fatal("all parts are loaded")
	}
	c.close(t)
	c.open(t)
	if c.ledger.treeWhole.Load() {
		t.Error("there is no outline after parts were not loaded")
	}
	c.pay(t, 3, 3)
	c.load(t)
	c.close(t)
}

// TestOpenWithoutOutline starts after a crash, with the outline of an earlier block.
func TestOpenWithoutOutline(t *testing.T) {
	c := newDeferredChain(t)
	c.pay(t, 1, 1)
	closeStore(t, c.ledger.store, c.db)
	c.open(t)
	if !c.ledger.treeWhole.Load() || c.ledger.values != nil {
		t.Errorf("the tree is whole: %t, the values are loaded: %t", c.ledger.treeWhole.Load(), c.ledger.values != nil)
	}
	c.pay(t, 2, 2)
	c.load(t)
	c.close(t)
}

func TestRewindBeforeLoad(t *testing.T) {
	c := newDeferredChain(t)
	c.pay(t, 1, 1)
	if err := c.ledger.Rewind(1); err != nil {
		t.Fatal(err)
	}
	c.pay(t, 1, 2)
	c.load(t)
	c.close(t)
}

// TestDeferredDamage starts over leaves that were changed while no node ran, each time with another use of the leaf. The
// last is no use: an outline that was changed too does not matter.
func TestDeferredDamage(t *testing.T) {
	key := state.AccountKey(resident(0))
	for name, use := range map[string]func(l *Ledger) error{
		"load":  func(l *Ledger) error { return l.Load(context.Background()) },
		"prove": func(l *Ledger) error { return second(l.Prove(key)) },
		"build": func(l *Ledger) error {
			batch := list{transfer(t, "alice", 1, resident(0), 5)}
			return second(l.Propose(Batch{Time: l.Tip().Header.Header.Timestamp + 1, Transactions: &batch}))
		},
		"open": nil,
	} {
		c := newDeferredChain(t)
		row := leafRowOf(t, c.db, key)
		row.value[0] ^= 1
		b := c.db.NewBatch(0)
		b.Set(row.key, row.value)
		if use == nil {
			outline, err := c.db.Get([]byte("moutline"))
			if err != nil {
				t.Fatal(err)
			}
			outline[100] ^= 1
			b.Set([]byte("moutline"), outline)
		}
		if err := c.db.Commit(b, true); err != nil {
			t.Fatal(err)
		}
		closeStore(t, c.ledger.store, c.db)
		store, db := openStore(t, c.disk)
		l, err := openWith(store, nil, nil, nil, early)
		if use != nil {
			if err != nil {
				t.Fatal(err)
			}
			err = use(l)
		}
		if !errors.Is(err, ErrRoot) || !errors.Is(err, chain.ErrCorrupt) {
			t.Errorf("%s: got %v, want %v, which is damage", name, err, ErrRoot)
		}
		closeStore(t, store, db)
	}
}

// storedRow is a row of the database.
type storedRow struct{ key, value []byte }

// leafRowOf returns the leaf's row of a state key.
func leafRowOf(t *testing.T, db *kv.DB, key []byte) (found storedRow) {
	t.Helper()
	err := kv.Scan(db, []byte("p"), []byte("q"), func(name, row []byte) error {
		if bytes.HasSuffix(row, key) {
			found = storedRow{bytes.Clone(name), bytes.Clone(row)}
		}
		return nil
	})
	if err == nil && found.key == nil {
		err = fmt.Errorf("no leaf of %x", key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}
