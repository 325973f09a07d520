package ledger

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// received returns the blocks of a ledger after the genesis.
func received(t *testing.T, l *Ledger) (blocks []*Received) {
	t.Helper()
	for h := types.Height(1); h <= l.Tip().Header.Header.Height; h++ {
		blocks = append(blocks, must(Receive(types.Regtest, encodedBlock(t, l, h).Encode()))(t))
	}
	return blocks
}

// paid returns a chain of n blocks with a payment each.
func paid(t *testing.T, g types.Genesis, n int) *Ledger {
	t.Helper()
	l := openLedger(t, g)
	for nonce := range uint64(n) {
		build(t, l, transfer(t, "alice", nonce, types.Account{9}, 7))
	}
	return l
}

// TestImportRun imports blocks of all kinds in one run, and one by one: both give the primary's chain, and the same
// rows. Time stands still in a bubble, so no run ends because it takes long.
func TestImportRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := must(wasm.New(wasm.Options{}))(t)
		defer func() { _ = must(0, engine.Close())(t) }()
		g := testGenesis(t)
		open := func(engine vm.Engine) (*Ledger, *kv.DB) {
			db := must(kv.Open("db", kv.Options{FS: kv.Memory()}))(t)
			store := must(chain.Open(db, chain.Options{Schedule: params.Prices.Digest(), WitnessBytes: 1 << 20}))(t)
			t.Cleanup(func() { closeStore(t, store, db) })
			return must(Open(store, &g, nil, engine))(t), db
		}
		primary, _ := open(engine)
		c := &provenChain{t: t, primary: primary}
		c.extend()
		blocks := received(t, primary)

		fresh := must(wasm.New(wasm.Options{}))(t) // without codes: the run brings them
		defer func() { _ = must(0, fresh.Close())(t) }()
		replica, db := open(fresh)
		syncs := db.Metrics().Syncs
		imported := must(replica.Import(blocks...))(t)
		checkMemory(t, replica)
		if len(imported) != len(blocks) || db.Metrics().Syncs != syncs+1 {
			t.Errorf("%d of %d blocks are imported with %d syncs", len(imported), len(blocks), db.Metrics().Syncs-syncs)
		}
		for i, b := range imported {
			if b.Hash != blocks[i].hash || b.Header != blocks[i].Header() || len(b.Included) != len(blocks[i].txs) {
				t.Errorf("block %d of the run is %+v", i, b)
			}
		}
		if !sameTip(replica.Tip(), primary.Tip()) || replica.tree.Root() != primary.tree.Root() ||
			replica.treeHead != primary.treeHead {
			t.Errorf("tips %+v and %+v", replica.Tip(), primary.Tip())
		}
		rows := func(db *kv.DB) (rows [][]byte) {
			_ = must(0, kv.Scan(db, nil, nil, func(key, value []byte) error {
				rows = append(rows, bytes.Clone(key), bytes.Clone(value))
				return nil
			}))(t)
			return rows
		}
		single, singleDB := open(engine)
		for _, b := range blocks {
			must(single.Import(b))(t)
		}
		got, want := rows(db), rows(singleDB)
		if len(got) != len(want) {
			t.Fatalf("%d rows after a run, %d after the blocks one by one", len(got)/2, len(want)/2)
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("row %d is %x after a run, %x after the blocks one by one", i/2, got[i], want[i])
			}
		}
		if _, err := replica.Store().Witnesses(); err != nil {
			t.Errorf("no witness is kept: error %v", err)
		}
	})
}

// TestImportRunUpToABadBlock has a block in the run whose execution gives another result: the blocks before it are on
// disk.
func TestImportRunUpToABadBlock(t *testing.T) {
	g := testGenesis(t)
	primary := paid(t, g, 4)
	for bad := range 4 {
		synctest.Test(t, func(t *testing.T) {
			disk := kv.NewCrashDisk()
			store, db := openStore(t, disk)
			defer closeStore(t, store, db)
			replica := must(Open(store, &g, nil, nil))(t)
			blocks := received(t, primary)
			block := encodedBlock(t, primary, types.Height(bad+1))
			block.Header.StateRoot[0] ^= 1
			blocks[bad] = must(Receive(types.Regtest, signed(t, "producer", block)))(t)
			imported, err := replica.Import(blocks...)
			if invalid := new(InvalidBlock); !errors.As(err, &invalid) || len(imported) != bad ||
				int(invalid.Claimed.Header.Height) != bad+1 {
				t.Errorf("block %d is bad: %d are imported, error %v", bad+1, len(imported), err)
			}
			checkMemory(t, replica)
			left, leftDB := openStore(t, disk.Crash(0, 1))
			defer closeStore(t, left, leftDB)
			for _, head := range []types.SignedHeader{store.Head(), replica.Tip().Header, left.Head()} {
				if int(head.Header.Height) != bad {
					t.Errorf("block %d is bad: the head is %d", bad+1, head.Header.Height)
				}
			}
			if replica.treeHead != replica.Tip().Header.Header {
				t.Errorf("block %d is bad: the tree is of block %d", bad+1, replica.treeHead.Height)
			}
			if imported = must(replica.Import(received(t, primary)[bad:]...))(t); len(imported) != 4-bad ||
				!sameTip(replica.Tip(), primary.Tip()) {
				t.Errorf("block %d was bad: then %d are imported", bad+1, len(imported))
			}
		})
	}
}

// TestRunIsOnDiskBeforeItIsTold records the ledger's announced head at each write to the disk, and checks that a crash
// at that point keeps it.
func TestRunIsOnDiskBeforeItIsTold(t *testing.T) {
	g := testGenesis(t)
	primary := paid(t, g, 12)
	synctest.Test(t, func(t *testing.T) {
		type moment struct {
			told types.Height
			left *kv.CrashDisk
		}
		var mu sync.Mutex
		var moments []moment
		disk := kv.NewCrashDisk()
		store, db := openStore(t, disk)
		defer closeStore(t, store, db)
		replica := must(Open(store, &g, nil, nil))(t)
		look := func() error {
			mu.Lock()
			defer mu.Unlock()
			told := max(store.Head().Header.Height, replica.Tip().Header.Header.Height)
			for _, percent := range []int{0, 50, 100} {
				moments = append(moments, moment{told, disk.Crash(percent, uint64(len(moments)))})
			}
			return nil
		}
		disk.OnWrite(look)
		for blocks := received(t, primary); len(blocks) > 0; {
			imported := must(replica.Import(blocks[:min(5, len(blocks))]...))(t)
			checkMemory(t, replica)
			blocks = blocks[len(imported):]
			_ = must(0, look())(t)
		}
		disk.OnWrite(nil)
		ahead := 0
		for i, m := range moments {
			left, leftDB := openStore(t, m.left)
			again := must(Open(left, nil, nil, nil))(t) // compares the tree with the head's root
			checkMemory(t, again)
			head := again.Tip().Header
			if head.Header.Height < m.told || head != must(primary.Header(head.Header.Height))(t) {
				t.Errorf("moment %d: the head is %d where %d was told", i, head.Header.Height, m.told)
			}
			if head.Header.Height > m.told {
				ahead++
			}
			closeStore(t, left, leftDB)
		}
		if len(moments) < 3*6 || ahead == 0 {
			t.Errorf("%d moments, at %d of which there are blocks on the disk that nobody was told of", len(moments), ahead)
		}
	})
}

// TestRunThatIsLost makes the disk fail at the end of a run: the ledger announces none of its blocks, and proves
// nothing from a tree that is ahead.
func TestRunThatIsLost(t *testing.T) {
	g := testGenesis(t)
	primary := paid(t, g, 4)
	synctest.Test(t, func(t *testing.T) {
		disk := kv.NewCrashDisk()
		store, db := openStore(t, disk)
		replica := must(Open(store, &g, nil, nil))(t)
		must(replica.Import(received(t, primary)[0]))(t)
		before := replica.Tip()
		disk.OnWrite(func() error { return errors.New("broken disk") })
		imported, err := replica.Import(received(t, primary)[1:]...)
		if !errors.Is(err, kv.ErrFailed) || len(imported) != 0 || replica.Tip() != before || store.Head() != before.Header {
			t.Errorf("%d blocks are imported, %v, the head is %d", len(imported), err, store.Head().Header.Height)
		}
		disk.OnWrite(nil)
		if _, err := replica.Prove(state.AccountKey(types.Account{9})); !errors.Is(err, kv.ErrFailed) {
			t.Errorf("a proof: error %v, want %v", err, kv.ErrFailed)
		}
		if _, err := replica.Import(received(t, primary)[1]); !errors.Is(err, kv.ErrFailed) {
			t.Errorf("another block: error %v, want %v", err, kv.ErrFailed)
		}
		if _, err := replica.Build(Batch{Time: before.Header.Header.Timestamp + 1}, nil); !errors.Is(err, kv.ErrFailed) {
			t.Errorf("a block of its own: error %v, want %v", err, kv.ErrFailed)
		}
		_ = must(0, store.Close())(t)
		if db.Close() == nil {
			t.Error("the database closed as if nothing had been")
		}
	})
}
