package ledger

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// locked makes the next block with a lock and a payment, or returns the reason why it did not.
func locked(t *testing.T, l *Ledger, lock *signstate.State, amount types.Amount) (Block, error) {
	t.Helper()
	key := testKey(t, "producer")
	head := l.Tip().Header.Header
	batch := list{transfer(t, "alice", uint64(head.Height), types.Account{9}, amount)}
	return l.Build(Batch{Time: head.Timestamp + 1, Transactions: &batch, Lock: lock}, func(
		h types.BlockHash,
	) (types.Signature, error) {
		return key.Sign(h[:], [32]byte{})
	})
}

func openLock(t *testing.T, l *Ledger, disk *kv.CrashDisk) *signstate.State {
	t.Helper()
	return must(signstate.Open(disk.FS(), "signed", must(l.Header(0))(t).Header.Hash()))(t)
}

// TestLockAndBlockAtEveryMoment cuts the power before every disk operation while blocks are made. The chain is never
// behind the lock, because it could not continue then, and both have every announced block.
func TestLockAndBlockAtEveryMoment(t *testing.T) {
	type moment struct {
		told types.Height
		left *kv.CrashDisk
	}
	var moments []moment
	g := testGenesis(t)
	disk := kv.NewCrashDisk()
	store, db := openStore(t, disk)
	defer closeStore(t, store, db)
	l := must(Open(store, &g, nil, nil))(t)
	look := func() error {
		told := max(store.Head().Header.Height, l.Tip().Header.Header.Height)
		for _, percent := range []int{0, 50, 100} {
			moments = append(moments, moment{told, disk.Crash(percent, uint64(len(moments)))})
		}
		return nil
	}
	disk.OnWrite(look)
	lock := openLock(t, l, disk)
	for range 5 {
		must(locked(t, l, lock, 7))(t)
		_ = must(0, look())(t)
	}
	disk.OnWrite(nil)
	_ = must(0, lock.Close())(t)
	between := 0
	for i, m := range moments {
		left, leftDB := openStore(t, m.left)
		again := must(Open(left, nil, nil, nil))(t)
		lock := openLock(t, again, m.left)
		head, signed := again.Tip().Header.Header, lock.Last()
		if signed.Height < m.told || signed.Height > head.Height {
			t.Errorf("moment %d: %d was told, the lock holds %d, the chain ends at %d", i, m.told, signed.Height, head.Height)
		}
		if signed.Height < head.Height {
			between++
		}
		_ = must(0, lock.Record(head))(t) // like a starting node
		must(locked(t, again, lock, 8))(t)
		_ = must(0, lock.Close())(t)
		closeStore(t, left, leftDB)
	}
	if len(moments) < 3*5*4 || between == 0 {
		t.Errorf("%d moments, at %d of which a block is on disk and not held", len(moments), between)
	}
}

// TestNoSecondBlockOfAHeight removes the newest block from the database, as a lying disk or an older copy would: no
// other is signed in its place, nor appended.
func TestNoSecondBlockOfAHeight(t *testing.T) {
	g := testGenesis(t)
	disk, lockDisk := kv.NewCrashDisk(), kv.NewCrashDisk()
	store, db := openStore(t, disk)
	defer closeStore(t, store, db)
	l := must(Open(store, &g, nil, nil))(t)
	lock := openLock(t, l, lockDisk)
	must(locked(t, l, lock, 7))(t)
	older := disk.Crash(0, 1)
	signed := must(locked(t, l, lock, 7))(t)
	_ = must(0, lock.Close())(t)

	left, leftDB := openStore(t, older)
	defer closeStore(t, left, leftDB)
	again := must(Open(left, nil, nil, nil))(t)
	lock = openLock(t, again, lockDisk)
	defer func() { _ = must(0, lock.Close())(t) }()
	if _, err := locked(t, again, lock, 8); !errors.Is(err, signstate.ErrSigned) {
		t.Fatalf("another block 2: error %v, want %v", err, signstate.ErrSigned)
	}
	if head := left.Head().Header.Height; head != 1 || again.Tip().Header.Header.Height != 1 {
		t.Fatalf("the head is %d", head)
	}
	if same := must(locked(t, again, lock, 7))(t); same.Hash != signed.Hash {
		t.Errorf("%s is not the block that was signed, %s", same.Hash, signed.Hash)
	}
}

// TestBlockThatIsNotHeldIsNotTold makes the lock's disk fail: the block, which is on disk, is not announced, and none
// is made after it.
func TestBlockThatIsNotHeldIsNotTold(t *testing.T) {
	g := testGenesis(t)
	disk, lockDisk := kv.NewCrashDisk(), kv.NewCrashDisk()
	store, db := openStore(t, disk)
	l := must(Open(store, &g, nil, nil))(t)
	lock := openLock(t, l, lockDisk)
	must(locked(t, l, lock, 7))(t)
	before := l.Tip()
	broken := errors.New("broken disk")
	lockDisk.OnWrite(func() error { return broken })
	for range 2 {
		if _, err := locked(t, l, lock, 7); !errors.Is(err, broken) {
			t.Errorf("a block that is not held: error %v, want %v", err, broken)
		}
		lockDisk.OnWrite(nil)
	}
	if l.Tip() != before || store.Head() != before.Header {
		t.Errorf("the head is %d", store.Head().Header.Height)
	}
	_ = must(0, lock.Close())(t)
	if err := errors.Join(store.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	store, db = openStore(t, disk)
	defer closeStore(t, store, db)
	if head := store.Head().Header.Height; head != 2 {
		t.Errorf("after a start the head is %d, want 2", head)
	}
}
