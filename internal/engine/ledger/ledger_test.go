package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

func testKey(t testing.TB, name string) crypto.PrivateKey {
	t.Helper()
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func testGenesis(t testing.TB) types.Genesis {
	t.Helper()
	g := types.Genesis{
		ChainID: 7, Network: types.Regtest, Time: 1_000, BaseFee: 10,
		Parameters: params.Default(testKey(t, "producer").PublicKey()),
	}
	for _, name := range []string{"alice", "bob"} {
		g.Allocations = append(g.Allocations, types.Allocation{
			Account: testKey(t, name).PublicKey(), Balance: 1_000 * types.CoinUnits,
		})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	return g
}

func openStore(t testing.TB, disk *kv.CrashDisk) (*chain.Store, *kv.DB) {
	t.Helper()
	db, err := kv.Open("db", kv.Options{FS: disk.FS()})
	if err != nil {
		t.Fatal(err)
	}
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	if err != nil {
		t.Fatal(err)
	}
	return store, db
}

func closeStore(t testing.TB, store *chain.Store, db *kv.DB) {
	t.Helper()
	if err := errors.Join(store.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// sameTip compares all members of two tips.
func sameTip(a, b *Tip) bool {
	return a.Header == b.Header && a.Hash == b.Hash && a.Parameters.Equal(b.Parameters) && a.Override == b.Override &&
		sameEnv(a.Env, b.Env)
}

func sameEnv(a, b exec.Env) bool {
	return a.ChainID == b.ChainID && a.Network == b.Network && a.Parameters.Equal(b.Parameters) &&
		a.BaseFee == b.BaseFee && a.Timestamp == b.Timestamp
}

// list is a batch's transactions in a given order.
type list []*types.VerifiedTx

func (l *list) Next() *types.VerifiedTx {
	if len(*l) == 0 {
		return nil
	}
	tx := (*l)[0]
	*l = (*l)[1:]
	return tx
}

func (*list) SkipSender() {}

func transfer(t *testing.T, from string, nonce uint64, to types.Account, amount types.Amount) *types.VerifiedTx {
	t.Helper()
	key := testKey(t, from)
	signed, err := types.Sign(types.Transaction{
		ChainID:              7,
		Sender:               key.PublicKey(),
		Nonce:                nonce,
		GasLimit:             120_000,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 1,
		Target:               to, Value: amount, Payload: types.Transfer{},
	}, key, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	return types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))[0]
}

func build(t *testing.T, l *Ledger, txs ...*types.VerifiedTx) Block {
	t.Helper()
	key := testKey(t, "producer")
	batch := list(txs)
	block, err := l.Build(Batch{Time: l.Tip().Header.Header.Timestamp +
		1, Transactions: &batch}, func(h types.BlockHash) (types.Signature, error) {
		return key.Sign(h[:], [32]byte{})
	})
	if err != nil {
		t.Fatal(err)
	}
	checkMemory(t, l)
	return block
}

func balance(t *testing.T, store *chain.Store, h types.Height, a types.Account) types.Amount {
	t.Helper()
	view, err := store.StateAt(h)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	sender, err := exec.ReadAccount(view, a)
	if err != nil {
		t.Fatal(err)
	}
	return sender.Balance
}

func TestBuildReopenAndExecuteGiveTheSameRoots(t *testing.T) {
	disk := kv.NewCrashDisk()
	store, db := openStore(t, disk)
	g := testGenesis(t)
	l, err := Open(store, &g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh := types.Account{9}
	invalid := transfer(t, "bob", 5, fresh, 1)
	leaves := l.TreeSize()
	block := build(t, l, transfer(t, "alice", 0, fresh, 7), invalid, transfer(t, "alice", 1, fresh, 8))
	if l.TreeSize() != leaves+2 { // the new leaves of the recipient and the fee recipient
		t.Errorf("the tree has %d leaves, before two new accounts %d", l.TreeSize(), leaves)
	}
	if took := block.Timings; took.Start.IsZero() || min(took.Execute, took.Tree, took.Seal, took.Append) <= 0 {
		t.Errorf("timings %+v", took)
	}
	if len(block.Included) != 2 || !block.Header.VerifySeal() {
		t.Fatalf("included %v, signature %v", block.Included, block.Header.VerifySeal())
	}
	empty := build(t, l)
	if empty.Header.Header.StateRoot != block.Header.Header.StateRoot || empty.Header.Header.Parent != block.Hash {
		t.Error("an empty block changes nothing and follows its parent")
	}
	stored, err := store.Block(1)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := store.Header(0)
	if err != nil {
		t.Fatal(err)
	}
	view, err := store.StateAt(0)
	if err != nil {
		t.Fatal(err)
	}
	template := must(exec.HeaderTemplate(parent.Header, g.Parameters, stored.Header.Timestamp))(t)
	run := exec.Begin(g.Network, g.Parameters, view, template, exec.Machine{})
	for _, tx := range types.VerifyWitnesses(types.Regtest, types.NewTxs(stored.Transactions...)) {
		must(run.Apply(tx))(t)
	}
	result := must(run.Finish())(t)
	result.Header.StateRoot = stored.Header.StateRoot // the root, which only the tree can derive
	if err := exec.CheckHeader(stored.Header, result.Header); err != nil || len(result.Receipts) != 2 {
		t.Errorf("executing the stored block again: %v, %d receipts", err, len(result.Receipts))
	}
	if err := view.Close(); err != nil {
		t.Error(err)
	}
	if before, after := balance(t, store, 0, fresh), balance(t, store, 1, fresh); before != 0 || after != 15 {
		t.Errorf("balance before %d, after %d", before, after)
	}
	closeStore(t, store, db)

	store, db = openStore(t, disk)
	defer closeStore(t, store, db)
	again, err := Open(store, &g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkMemory(t, again)
	if again.Tip().Hash != empty.Hash || again.tree.Root() != empty.Header.Header.StateRoot {
		t.Errorf("reopened at %s, want %s", again.Tip().Hash, empty.Hash)
	}
	build(t, again, transfer(t, "alice", 2, fresh, 9))
}

func TestOpenRefusesAnotherGenesis(t *testing.T) {
	store, db := openStore(t, kv.NewCrashDisk())
	defer closeStore(t, store, db)
	if _, err := Open(store, nil, nil, nil); err == nil {
		t.Error("an empty store without a genesis was opened")
	}
	g := testGenesis(t)
	if _, err := Open(store, &g, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(store, nil, nil, nil); err != nil {
		t.Errorf("a store with a chain needs no genesis: error %v", err)
	}
	g.Time++
	if _, err := Open(store, &g, nil, nil); !errors.Is(err, chain.ErrOtherGenesis) {
		t.Errorf("got %v, want %v", err, chain.ErrOtherGenesis)
	}
}

// TestOverrideHandsProductionOver: after the loss of the producer's key, another one signs from the override's block
// on.
func TestOverrideHandsProductionOver(t *testing.T) {
	store, db := openStore(t, kv.NewCrashDisk())
	defer closeStore(t, store, db)
	g := testGenesis(t)
	next := g.Parameters
	next.Producer, next.MinBaseFee, next.GasLimit = testKey(t, "heir").PublicKey(), 50, 4_000_000
	l, err := Open(store, &g, &Override{Height: 2, Parameters: next}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if before := build(t, l); before.Header.Header.Producer != g.Parameters.Producer || len(before.Accesses) != 0 {
		t.Errorf("block 1 is by %s and lists %v", before.Header.Header.Producer, before.Accesses)
	}
	block := build(t, l)
	h := block.Header.Header
	if h.Producer != next.Producer || h.BaseFee != 50 || h.GasLimit != 4_000_000 {
		t.Errorf("header of the override's block: got %+v, want Producer %v and BaseFee 50 and GasLimit 4,000,000",
			h, next.Producer)
	}
	// A block without transactions accesses just the parameters, which it writes like any other key.
	if len(block.Accesses) != 1 || string(block.Accesses[0].Key) != string(state.ParametersKey()) ||
		string(block.Accesses[0].New) != string(next.Encode()) {
		t.Errorf("accesses %v", block.Accesses)
	}
	if after := build(t, l); after.Header.Header.Producer != next.Producer || !l.Tip().Parameters.Equal(next) {
		t.Errorf("block 3 is by %s", after.Header.Header.Producer)
	}
	for name, change := range map[string]func(*types.Parameters){
		"a base fee out of its bounds":   func(p *types.Parameters) { p.MinBaseFee = 0 },
		"a version that is not known":    func(p *types.Parameters) { p.Version++ },
		"an upgrade after the year 9999": func(p *types.Parameters) { p.Upgrade = &types.Upgrade{Version: 3, From: types.MaxTime + 1} },
		"a producer that is on no curve": func(p *types.Parameters) { p.Producer = types.PublicKey{} },
		"a notice of more than 35 years": func(p *types.Parameters) { p.Notice = params.MaxNotice + 1 },
	} {
		bad := next
		change(&bad)
		if _, err := Open(store, &g, &Override{Height: 9, Parameters: bad}, nil); err == nil {
			t.Errorf("an override with %s was taken", name)
		}
	}
}

func TestProve(t *testing.T) {
	store, db := openStore(t, kv.NewCrashDisk())
	defer closeStore(t, store, db)
	g := testGenesis(t)
	l, err := Open(store, &g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	build(t, l, transfer(t, "alice", 0, types.Account{9}, 7))
	keys := [][]byte{state.SupplyKey(), state.ParametersKey(), state.AccountKey(types.Account{9})}
	for i := range byte(50) {
		keys = append(keys, state.AccountKey(types.Account{i, 1})) // absent keys: empty ends and the leaves of others
	}
	for _, key := range keys {
		proof, err := l.Prove(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := proof.Merkle.Verify(proof.StateRoot, key, proof.Value); err != nil {
			t.Errorf("%x: error %v", key, err)
		}
		if err := proof.Merkle.Verify(proof.StateRoot, key, append(proof.Value, 1)); err == nil {
			t.Errorf("%x: another value is proven too", key)
		}
		if proof.StateRoot != l.Tip().Header.Header.StateRoot {
			t.Error("proof is not of the head")
		}
	}
}

// TestProveAt proves keys that appear and disappear after each block, after later blocks and while they are made.
func TestProveAt(t *testing.T) {
	store, db := openStore(t, kv.NewCrashDisk())
	defer closeStore(t, store, db)
	g := testGenesis(t)
	l, err := Open(store, &g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := [][]byte{state.SupplyKey(), state.ParametersKey()}
	require := func(h types.Height) {
		t.Helper()
		header, err := store.Header(h)
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			proof, err := l.ProveAt(t.Context(), h, key)
			if err != nil {
				t.Fatalf("key %d after block %d: error %v", i, h, err)
			}
			if err := proof.Merkle.Verify(header.Header.StateRoot, key, proof.Value); err != nil || proof.Height != h {
				t.Errorf("key %d after block %d: of block %d, error %v", i, h, proof.Height, err)
			}
		}
	}
	for i := range byte(24) {
		to := types.Account{i, 9}
		keys = append(keys, state.AccountKey(to))
		build(t, l, transfer(t, "alice", uint64(i), to, 7))
	}
	for h := range types.Height(25) {
		require(h)
	}
	built, proven := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(proven)
		for {
			require(3)
			select {
			case <-built:
				return
			default:
			}
		}
	}()
	for i := range byte(20) {
		build(t, l, transfer(t, "alice", 24+uint64(i), types.Account{i, 10}, 7))
	}
	close(built)
	<-proven

	if _, err := l.ProveAt(t.Context(), 45, keys[0]); !errors.Is(err, chain.ErrAboveHead) {
		t.Errorf("above the head: error %v, want %v", err, chain.ErrAboveHead)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.ProveAt(cancelled, 3, keys[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: error %v, want %v", err, context.Canceled)
	}
	if err := l.Rewind(10); err != nil {
		t.Fatal(err)
	}
	require(10)
	require(4)
}

// TestProveWhileBlocksAreMade requests proofs continuously: each is for a block that is on disk, and valid under its
// root.
func TestProveWhileBlocksAreMade(t *testing.T) {
	l := openLedger(t, testGenesis(t))
	proveWhile(t, l, func() {
		for nonce := range uint64(30) {
			build(t, l, transfer(t, "alice", nonce, types.Account{9}, 7))
		}
	})
}

func TestProveWhileBlocksAreImported(t *testing.T) {
	g := testGenesis(t)
	blocks := received(t, paid(t, g, 40))
	l := openLedger(t, g)
	proveWhile(t, l, func() {
		for len(blocks) > 0 {
			blocks = blocks[len(must(l.Import(blocks[:min(8, len(blocks))]...))(t)):]
		}
	})
}

// proveWhile makes proofs continuously while work runs, at least one.
func proveWhile(t *testing.T, l *Ledger, work func()) {
	t.Helper()
	key := state.AccountKey(types.Account{9})
	built, proven := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { proven <- n }()
		for {
			proof, err := l.Prove(key)
			if err == nil {
				err = proof.Merkle.Verify(proof.StateRoot, key, proof.Value)
			}
			header, headerErr := l.Header(proof.Height)
			if err := errors.Join(err, headerErr); err != nil || header.Header.StateRoot != proof.StateRoot {
				t.Errorf("a proof at block %d: error %v", proof.Height, err)
				return
			}
			n++
			select {
			case <-built:
				return
			default:
			}
		}
	}()
	work()
	close(built)
	if <-proven == 0 {
		t.Error("nothing was proven")
	}
}

func TestRewind(t *testing.T) {
	store, db := openStore(t, kv.NewCrashDisk())
	defer closeStore(t, store, db)
	g := testGenesis(t)
	l, err := Open(store, &g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh := types.Account{9}
	first := build(t, l, transfer(t, "alice", 0, fresh, 7))
	build(t, l, transfer(t, "alice", 1, fresh, 8), transfer(t, "bob", 0, types.Account{10}, 8))
	build(t, l, transfer(t, "bob", 1, fresh, 8))
	if err := l.Rewind(1); err != nil {
		t.Fatal(err)
	}
	checkMemory(t, l)
	if l.Tip().Hash != first.Hash || balance(t, store, 1, fresh) != 7 {
		t.Errorf("tip %s, balance %d", l.Tip().Hash, balance(t, store, 1, fresh))
	}
	again := build(t, l, transfer(t, "alice", 1, fresh, 1))
	if again.Header.Header.Height != 2 || balance(t, store, 2, fresh) != 8 {
		t.Errorf("after the rewind: height %d", again.Header.Header.Height)
	}
	if err := l.Rewind(9); !errors.Is(err, chain.ErrAboveHead) {
		t.Errorf("above the head: error %v, want %v", err, chain.ErrAboveHead)
	}
}

// TestSignatureLeavesOnlyAfterTheBlockIsOnDisk crashes the disk at every write of a block. The chain on it then
// has the block or ends before it; if anyone was notified of the block, the chain has it.
func TestSignatureLeavesOnlyAfterTheBlockIsOnDisk(t *testing.T) {
	g := testGenesis(t)
	for crashAt := 0; ; crashAt++ {
		disk := kv.NewCrashDisk()
		store, db := openStore(t, disk)
		l, err := Open(store, &g, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		build(t, l, transfer(t, "alice", 0, types.Account{9}, 7))
		head := l.Tip()
		var crashed *kv.CrashDisk
		writes := 0
		disk.OnWrite(func() error {
			if writes == crashAt {
				crashed = disk.Crash(50, uint64(crashAt))
			}
			writes++
			return nil
		})
		block := build(t, l, transfer(t, "alice", 1, types.Account{9}, 7))
		disk.OnWrite(nil)
		if crashed == nil { // every write of the block has been tried, so this one comes after the block
			crashed = disk.Crash(0, 0)
		}
		closeStore(t, store, db)
		store, db = openStore(t, crashed)
		again, err := Open(store, &g, nil, nil)
		if err != nil {
			t.Fatalf("write %d: error %v", crashAt, err)
		}
		if hash := again.Tip().Hash; hash != block.Hash && (hash != head.Hash || writes <= crashAt) {
			t.Errorf("write %d of %d: reopened at %s", crashAt, writes, hash)
		}
		closeStore(t, store, db)
		if writes <= crashAt {
			if writes == 0 {
				t.Error("no write was seen")
			}
			return
		}
	}
}
