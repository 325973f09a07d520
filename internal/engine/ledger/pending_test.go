package ledger

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

func propose(t *testing.T, l *Ledger, txs ...*types.VerifiedTx) *PendingBlock {
	t.Helper()
	batch := list(txs)
	return must(l.Propose(Batch{Time: l.Tip().Header.Header.Timestamp + 1, Transactions: &batch}))(t)
}

func seal(t *testing.T, signer string, h types.Header) types.Signature {
	t.Helper()
	hash := h.Hash()
	return must(testKey(t, signer).Sign(hash[:], [32]byte{}))(t)
}

// A block that one ledger proposes and another derives, and that both release, equals the one that a third builds.
func TestDraftDeriveRelease(t *testing.T) {
	g := testGenesis(t)
	alone, leader, follower := openLedger(t, g), openLedger(t, g), openLedger(t, g)
	for nonce := range uint64(3) {
		txs := []*types.VerifiedTx{
			transfer(t, "alice", nonce, types.Account{9, byte(nonce)}, 7),
			transfer(t, "bob", nonce, types.Account{10}, 8),
		}
		want := build(t, alone, txs...)
		before := leader.Tip()
		made := propose(t, leader, txs...)
		derived := must(follower.Derive(must(ReceiveProposal(types.Regtest, made.Encode()))(t)))(t)
		if made.Header() != want.Header.Header || derived.Header() != want.Header.Header {
			t.Fatalf("proposed %+v, derived %+v, built %+v", made.Header(), derived.Header(), want.Header.Header)
		}
		if leader.Tip() != before || leader.Store().Head() != before.Header || follower.Tip().Hash != before.Hash {
			t.Fatal("a pending block is the head before it is released")
		}
		signature := seal(t, "producer", made.Header())
		for l, d := range map[*Ledger]*PendingBlock{leader: made, follower: derived} {
			got := must(l.Release(d, signature))(t)
			if got.Header != want.Header || got.Hash != want.Hash || len(got.Included) != 2 ||
				len(got.Accesses) != len(want.Accesses) {
				t.Errorf("released %+v, want %+v", got, want)
			}
			if !sameTip(l.Tip(), alone.Tip()) || l.Store().Head() != want.Header || l.tree.Root() != alone.tree.Root() {
				t.Errorf("the tip is %+v, want %+v", l.Tip(), alone.Tip())
			}
			if got := encodedBlock(t, l, want.Header.Header.Height); string(got.Encode()) !=
				string(encodedBlock(t, alone, want.Header.Header.Height).Encode()) {
				t.Error("another block is stored")
			}
			checkMemory(t, l)
		}
	}
}

// A pending block that cannot be released changes nothing, and the right one can be released afterwards.
func TestReleaseRefuses(t *testing.T) {
	l := openLedger(t, testGenesis(t))
	refused := func(d *PendingBlock, signature types.Signature, want error) {
		t.Helper()
		before := l.Tip()
		if _, err := l.Release(d, signature); !errors.Is(err, want) {
			t.Errorf("it says %v, want %v", err, want)
		}
		if l.Tip() != before || l.Store().Head() != before.Header {
			t.Error("the head has changed")
		}
		checkMemory(t, l)
	}
	first, second := propose(t, l, transfer(t, "alice", 0, types.Account{9}, 7)), propose(t, l)
	signature := seal(t, "producer", first.Header())
	refused(first, types.Signature{}, ErrUnsigned)
	refused(first, seal(t, "alice", first.Header()), ErrUnsigned)
	refused(first, seal(t, "producer", second.Header()), ErrUnsigned)
	must(l.Release(first, signature))(t)
	refused(first, signature, ErrStale)
	refused(second, seal(t, "producer", second.Header()), ErrStale)
	third := propose(t, l)
	if err := l.Rewind(0); err != nil {
		t.Fatal(err)
	}
	refused(first, signature, ErrStale) // follows block 0, and was prepared from another tree of it
	refused(third, seal(t, "producer", third.Header()), ErrStale)
	again := propose(t, l, transfer(t, "alice", 0, types.Account{9}, 7))
	if must(l.Release(again, signature))(t); l.Tip().Hash != first.Header().Hash() {
		t.Error("another block was made of the same batch")
	}
}

// A proposal's transactions that are already verified are recognized by their bytes, and not by their hash alone.
func TestReceiveProposal(t *testing.T) {
	l := openLedger(t, testGenesis(t))
	alice, bob := transfer(t, "alice", 0, types.Account{9}, 7), transfer(t, "bob", 0, types.Account{9}, 7)
	made := propose(t, l, alice, bob)
	asked := 0
	c := must(NewProposal(types.Regtest, made.Header(), made.Transactions(), func(id types.TxID) *types.VerifiedTx {
		switch asked++; id {
		case alice.ID():
			return alice
		case bob.ID():
			return alice // whose bytes are others
		}
		t.Errorf("asked for %s", id)
		return nil
	}))(t)
	if v := c.block.verified; asked != 2 || v[0] != alice || v[1] == alice || v[1].ID() != bob.ID() {
		t.Errorf("asked %d times, verified %v", asked, v)
	}
	if c.Header() != made.Header() {
		t.Errorf("the header is %+v, want %+v", c.Header(), made.Header())
	}
	block := must(types.DecodeBlock(made.Encode()))(t)
	for name, encoded := range map[string][]byte{
		"signed":                 signed(t, "producer", block),
		"nothing":                {},
		"cut short":              made.Encode()[:300],
		"with a byte more":       append(made.Encode(), 0),
		"of another transaction": types.EncodeBlock(types.SignedHeader{Header: made.Header()}, []*types.Tx{alice.Tx()}),
	} {
		if _, err := ReceiveProposal(types.Regtest, encoded); !errors.Is(err, ErrAltered) {
			t.Errorf("%s: error %v, want %v", name, err, ErrAltered)
		}
	}
}

// A block that does not follow the head is not derived, and changes nothing.
func TestDeriveRefuses(t *testing.T) {
	g := testGenesis(t)
	leader, follower := openLedger(t, g), openLedger(t, g)
	made := propose(t, leader, transfer(t, "alice", 0, types.Account{9}, 7))
	for name, tc := range map[string]struct {
		change func(*types.Block)
		want   error
	}{
		"another height": {func(b *types.Block) { b.Header.Height++ }, ErrOtherHeight},
		"another parent": {func(b *types.Block) { b.Header.Parent[3] ^= 1 }, ErrOtherParent},
		"another producer": {func(b *types.Block) {
			b.Header.Producer = testKey(t, "bob").PublicKey()
		}, ErrOtherSigner},
		"another state root": {func(b *types.Block) { b.Header.StateRoot[0] ^= 1 }, exec.ErrHeader},
		"an earlier time":    {func(b *types.Block) { b.Header.Timestamp = 999 }, exec.ErrTimestamp},
		"a signature": {func(b *types.Block) {
			b.Transactions[0].Witness = types.WitnessKey{Signature: types.Signature{5}}
			b.Header.TransactionsRoot = lists.TransactionsRoot(types.NewTxs(b.Transactions...))
		}, errBadWitness},
	} {
		t.Run(name, func(t *testing.T) {
			block := must(types.DecodeBlock(made.Encode()))(t)
			tc.change(&block)
			c := must(ReceiveProposal(types.Regtest, block.Encode()))(t)
			if _, err := follower.Derive(c); !errors.Is(err, tc.want) {
				t.Errorf("it says %v, want %v", err, tc.want)
			} else if errors.As(err, new(*InvalidBlock)) && !strings.Contains(err.Error(), "decided") {
				t.Errorf("it says %v of a block that nobody signed", err)
			}
			if follower.Tip().Header.Header.Height != 0 {
				t.Fatal("the head has changed")
			}
			checkMemory(t, follower)
		})
	}
	derived := must(follower.Derive(must(ReceiveProposal(types.Regtest, made.Encode()))(t)))(t)
	must(follower.Release(derived, seal(t, "producer", made.Header())))(t)
}

// A released block is not synced. A power cut at any operation leaves the chain before the block or with it, and the
// block can be derived and released once more. Once anything later in the database is on disk, so is the block.
func TestReleaseAfterPowerCut(t *testing.T) {
	g := testGenesis(t)
	disk := kv.NewCrashDisk()
	store, db := openStore(t, disk)
	defer closeStore(t, store, db)
	l := must(Open(store, &g, nil, nil))(t)
	build(t, l)
	before := l.Tip().Hash
	var mu sync.Mutex
	var pictures []*kv.CrashDisk
	look := func() error { // another goroutine makes the writes that are not synced
		mu.Lock()
		defer mu.Unlock()
		for _, percent := range []int{0, 50, 100} {
			pictures = append(pictures, disk.Crash(percent, uint64(len(pictures))))
		}
		return nil
	}
	made := propose(t, l, transfer(t, "alice", 0, types.Account{9}, 7))
	encoded, signature := made.Encode(), seal(t, "producer", made.Header())
	disk.OnWrite(look)
	syncs := db.Metrics().Syncs
	must(l.Release(made, signature))(t)
	if now := db.Metrics().Syncs; now != syncs {
		t.Errorf("%d syncs for a released block", now-syncs)
	}
	_ = must(0, look())(t)
	_ = must(0, db.Sync())(t)
	disk.OnWrite(nil)
	mu.Lock()
	defer mu.Unlock()
	synced := len(pictures)
	pictures = append(pictures, disk.Crash(0, 0))
	lost := 0
	for i, picture := range pictures {
		left, leftDB := openStore(t, picture)
		again := must(Open(left, nil, nil, nil))(t)
		if again.Tip().Hash == before {
			lost++
			if i == synced {
				t.Error("a synced block is lost")
			}
			derived := must(again.Derive(must(ReceiveProposal(types.Regtest, encoded))(t)))(t)
			must(again.Release(derived, signature))(t)
		}
		if again.Tip().Hash != made.Header().Hash() {
			t.Errorf("picture %d: the head is %+v", i, again.Tip().Header)
		}
		checkMemory(t, again)
		closeStore(t, left, leftDB)
	}
	if lost == 0 {
		t.Errorf("no power cut of %d lost the block", len(pictures))
	}
}
