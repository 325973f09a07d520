package ledger

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

func openLedger(t *testing.T, g types.Genesis) *Ledger {
	t.Helper()
	store, db := openStore(t, kv.NewCrashDisk())
	t.Cleanup(func() { closeStore(t, store, db) })
	l, err := Open(store, &g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// encodedBlock returns a ledger's block, encoded.
func encodedBlock(t *testing.T, l *Ledger, h types.Height) types.Block {
	t.Helper()
	block, err := l.Store().Block(h)
	if err != nil {
		t.Fatal(err)
	}
	return block
}

// signed derives a block's transactions' root again, and signs the block again.
func signed(t *testing.T, signer string, b types.Block) []byte {
	t.Helper()
	b.Header.TransactionsRoot = lists.TransactionsRoot(types.NewTxs(b.Transactions...))
	hash := b.Header.Hash()
	var err error
	if b.Seal.Signature, err = testKey(t, signer).Sign(hash[:], [32]byte{}); err != nil {
		t.Fatal(err)
	}
	return b.Encode()
}

func TestImportGivesTheSameChain(t *testing.T) {
	g := testGenesis(t)
	primary, replica := openLedger(t, g), openLedger(t, g)
	for nonce := range uint64(3) {
		built := build(
			t, primary, transfer(t, "alice", nonce, types.Account{9, byte(nonce)}, 7),
			transfer(t, "bob", nonce, types.Account{10}, 8),
		)
		received, err := Receive(types.Regtest, encodedBlock(t, primary, types.Height(nonce+1)).Encode())
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := replica.Import(received)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%d blocks, error %v", len(blocks), err)
		}
		imported := blocks[0]
		if imported.Hash != built.Hash || imported.Header != built.Header || len(imported.Included) != 2 ||
			len(imported.Accesses) != len(built.Accesses) {
			t.Errorf("imported %+v, built %+v", imported, built)
		}
		if took := imported.Timings; min(took.Execute, took.Tree, took.Append) <= 0 || took.Seal != 0 {
			t.Errorf("timings %+v", took)
		}
	}
	if !sameTip(replica.Tip(), primary.Tip()) || replica.tree.Root() != primary.tree.Root() {
		t.Errorf("tips %+v and %+v", replica.Tip(), primary.Tip())
	}
}

// TestReceiveAll receives several blocks, some without transactions and some with more than a batch of signatures. One
// of them is then altered: only those before it are received.
func TestReceiveAll(t *testing.T) {
	g := testGenesis(t)
	g.Parameters.GasLimit = 1 << 34
	primary := openLedger(t, g)
	var encoded [][]byte
	var transactions [][]types.TxID
	nonce := uint64(0)
	for h, n := range []int{1, 0, leastWitnesses, 3} {
		var txs []*types.VerifiedTx
		for range n {
			txs = append(txs, transfer(t, "alice", nonce, types.Account{9}, 1))
			nonce++
		}
		block := build(t, primary, txs...)
		encoded = append(encoded, encodedBlock(t, primary, types.Height(h+1)).Encode())
		transactions = append(transactions, types.IDs(block.Included))
	}
	check := func(blocks []*Received, n int) {
		t.Helper()
		if len(blocks) != n {
			t.Fatalf("%d blocks, want %d", len(blocks), n)
		}
		for i, b := range blocks {
			if !bytes.Equal(b.Encoded(), encoded[i]) || !slices.Equal(b.IDs(), transactions[i]) ||
				len(b.verified) != len(b.txs) {
				t.Errorf("block %d is another one", i+1)
			}
			for j, tx := range b.verified {
				if tx == nil || tx.ID() != transactions[i][j] {
					t.Errorf("transaction %d of block %d", j, i+1)
				}
			}
		}
	}
	blocks, err := ReceiveAll(types.Regtest, encoded)
	if err != nil {
		t.Fatal(err)
	}
	check(blocks, len(encoded))
	for bad, was := range encoded {
		for name, alter := range map[string]func([]byte) []byte{
			"cut off":           func(b []byte) []byte { return b[:len(b)-1] },
			"another header":    func(b []byte) []byte { b[4] ^= 1; return b },
			"another last byte": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"a signature replaced": func(b []byte) []byte {
				clear(b[types.SignedHeaderBytes-64 : types.SignedHeaderBytes])
				return b
			},
		} {
			altered := slices.Clone(encoded)
			altered[bad] = alter(bytes.Clone(was))
			blocks, err := ReceiveAll(types.Regtest, altered)
			if !errors.Is(err, ErrAltered) {
				t.Errorf("block %d, %s: error %v, want %v", bad+1, name, err, ErrAltered)
			}
			check(blocks, bad)
		}
	}
}

// TestImportRefuses breaks each rule with one block. None changes the chain, and the valid block is imported
// afterwards.
func TestImportRefuses(t *testing.T) {
	g := testGenesis(t)
	primary, replica := openLedger(t, g), openLedger(t, g)
	build(t, primary, transfer(t, "alice", 0, types.Account{9}, 7), transfer(t, "bob", 0, types.Account{9}, 7))
	next := build(t, primary)
	type change func(*types.Block)
	header := func(f func(*types.Header)) change { return func(b *types.Block) { f(&b.Header) } }
	otherTransaction := func(tx *types.VerifiedTx) change {
		return func(b *types.Block) { b.Transactions[1] = *tx.Signed() }
	}
	const producer = "producer"
	for name, c := range map[string]struct {
		signer string // empty: the bytes are changed and not signed again
		change change
		want   error // in Receive or Import
		text   string
	}{
		"a header changed on its way": {
			"", header(func(h *types.Header) { h.StateRoot[0] ^= 1 }), ErrAltered, "seal",
		},
		"a transaction changed on its way": {
			"", func(b *types.Block) { b.Transactions[1].Witness = types.WitnessKey{} }, ErrAltered, "transactions",
		},
		"a transaction left out on its way": {
			"", func(b *types.Block) { b.Transactions = b.Transactions[:1] }, ErrAltered, "transactions",
		},
		"transactions swapped on their way": {
			"", func(b *types.Block) { b.Transactions[0], b.Transactions[1] = b.Transactions[1], b.Transactions[0] },
			ErrAltered, "transactions",
		},
		"another signer": {
			"bob", header(func(h *types.Header) { h.Producer = testKey(t, "bob").PublicKey() }), ErrOtherSigner, "",
		},
		"another height": {producer, header(func(h *types.Header) { h.Height++ }), ErrOtherHeight, ""},
		"another parent": {
			producer, header(func(h *types.Header) { h.Parent[3] ^= 1 }), ErrOtherParent, "",
		},
		"another version": { // nothing in a block of another version is verified
			"", header(func(h *types.Header) { h.Version++ }), exec.ErrUnknownVersion, "version 3",
		},
		"an earlier version": {
			producer, header(func(h *types.Header) { h.Version-- }), exec.ErrUnknownVersion, "version 1",
		},
		"another chain": {
			producer, header(func(h *types.Header) { h.ChainID++ }), exec.ErrHeader, "chain_id",
		},
		"a time before the parent's": {
			producer, header(func(h *types.Header) { h.Timestamp = 999 }), exec.ErrTimestamp, "",
		},
		"another gas limit": {
			producer, header(func(h *types.Header) { h.GasLimit++ }), exec.ErrHeader, "gas_limit",
		},
		"another base fee": {
			producer, header(func(h *types.Header) { h.BaseFee++ }), exec.ErrHeader, "base_fee",
		},
		"another gas used": {
			producer, header(func(h *types.Header) { h.GasUsed++ }), exec.ErrHeader, "gas_used",
		},
		"another receipts root": {
			producer, header(func(h *types.Header) { h.ReceiptsRoot[0] ^= 1 }), exec.ErrHeader, "receipts_root",
		},
		"another state root": {
			producer, header(func(h *types.Header) { h.StateRoot[0] ^= 1 }), exec.ErrHeader, "state_root",
		},
		"a transaction's signature": {
			producer, func(b *types.Block) { b.Transactions[1].Witness = types.WitnessKey{} }, errBadWitness, "transaction 1",
		},
		"a transaction with a nonce ahead": {
			producer, otherTransaction(transfer(t, "bob", 1, types.Account{9}, 7)), exec.ErrNonceTooHigh, "transaction 1",
		},
		"a transaction that cannot pay": {
			producer, otherTransaction(transfer(t, "bob", 0, types.Account{9}, 1_000*types.CoinUnits)), exec.ErrCannotPay,
			"transaction 1",
		},
		"the same transaction for the other": {
			producer, otherTransaction(transfer(t, "alice", 0, types.Account{9}, 7)), exec.ErrNonceTooLow, "transaction 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			block := encodedBlock(t, primary, 1)
			c.change(&block)
			encoded := block.Encode()
			if c.signer != "" {
				encoded = signed(t, c.signer, block)
			}
			received, err := Receive(types.Regtest, encoded)
			if err == nil {
				_, err = replica.Import(received)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v, and %q", err, c.want, c.text)
			}
			var invalid *InvalidBlock
			byProducer := c.signer == producer && c.want != ErrOtherHeight && c.want != ErrOtherParent &&
				c.want != exec.ErrUnknownVersion
			if errors.As(err, &invalid) != byProducer {
				t.Errorf("the producer's fault: error %v", err)
			}
			if byProducer &&
				(invalid.Claimed.Header.Hash() != received.Header().Header.Hash() || !invalid.Claimed.VerifySeal()) {
				t.Errorf("the evidence is %+v", invalid.Claimed)
			}
			if replica.Tip().Header.Header.Height != 0 || replica.Store().Head().Header.Height != 0 {
				t.Fatal("the chain has changed")
			}
		})
	}
	for h := types.Height(1); h <= 2; h++ {
		received, err := Receive(types.Regtest, encodedBlock(t, primary, h).Encode())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := replica.Import(received); err != nil {
			t.Fatal(err)
		}
	}
	if replica.Tip().Hash != next.Hash {
		t.Error("the true chain was not taken after")
	}
}

// A chain announces an upgrade. Blocks of the new version are recognised by the part of the header that never changes,
// and blocks of the old version are invalid from that time on.
func TestImportStopsBeforeAnUnknownVersion(t *testing.T) {
	g := testGenesis(t)
	const newer = params.Version + 1
	from := g.Time + 1
	announced := g.Parameters
	announced.Upgrade = &types.Upgrade{Version: newer, From: from}
	primary, replica := openLedger(t, g), openLedger(t, g)
	replica.tip.Store(replica.newTip(replica.Tip().Header, announced))
	build(t, primary)
	old := encodedBlock(t, primary, 1)
	if old.Header.Timestamp != from {
		t.Fatalf("the block is of the time %d, not %d", old.Header.Timestamp, from)
	}
	var invalid *InvalidBlock
	_, err := replica.Import(must(Receive(g.Network, old.Encode()))(t))
	if !errors.As(err, &invalid) || !errors.Is(err, exec.ErrUnknownVersion) {
		t.Errorf("a block of the old version, at the time of the upgrade: error %v", err)
	}
	header := types.Header{Version: newer, ChainID: g.ChainID, Height: 1, Parent: replica.Tip().Hash, Timestamp: from}
	for name, c := range map[string]struct {
		change    func(*types.Header)
		announced bool
	}{
		"as announced":          {func(*types.Header) {}, true},
		"of a later time":       {func(h *types.Header) { h.Timestamp += 1_000_000 }, true},
		"before its time":       {func(h *types.Header) { h.Timestamp-- }, false},
		"of the version after":  {func(h *types.Header) { h.Version++ }, false},
		"of an earlier version": {func(h *types.Header) { h.Version = 1 }, false},
	} {
		h := header
		c.change(&h)
		// After its first fields a header of another version may have any content.
		encoded := append(h.Encode()[:60], bytes.Repeat([]byte{0xEE}, 100)...)
		received := must(Receive(g.Network, encoded))(t)
		var unknown *UnknownVersion
		for _, err := range []error{replica.CheckNext(received), second(replica.Import(received))} {
			if !errors.As(err, &unknown) || unknown.Announced() != c.announced || unknown.Version != h.Version {
				t.Errorf("a block %s: got %v, error %+v", name, err, unknown)
			}
		}
		if !bytes.Equal(received.Encoded(), encoded) {
			t.Errorf("a block %s has other bytes", name)
		}
	}
	header.Parent[0] ^= 1
	if err := replica.CheckNext(must(Receive(g.Network, header.Encode()))(t)); !errors.Is(err, ErrOtherParent) {
		t.Errorf("a block after another one: error %v, want %v", err, ErrOtherParent)
	}
	if _, err := Receive(g.Network, header.Encode()[:59]); !errors.Is(err, ErrAltered) {
		t.Errorf("a header that ends early: error %v, want %v", err, ErrAltered)
	}
	if replica.Tip().Header.Header.Height != 0 {
		t.Error("the chain has changed")
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzReceive(f *testing.F) {
	f.Add([]byte{})
	f.Add(types.Block{}.Encode())
	f.Add(types.Block{
		Header: types.Header{Version: params.Version},
		Transactions: []types.SignedTransaction{
			{Transaction: types.Transaction{Payload: types.Transfer{}}, Witness: types.WitnessKey{}},
		},
	}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		received, err := Receive(types.Regtest, b)
		if err != nil && !errors.Is(err, ErrAltered) {
			t.Fatalf("another error: %v", err)
		}
		if err == nil && !received.unknown && !received.Header().VerifySeal() {
			t.Fatal("a block without a seal was received")
		}
	})
}

// sponsored returns a transfer that another account pays for.
func sponsored(t *testing.T, from string, nonce uint64, payer string) *types.VerifiedTx {
	t.Helper()
	tx := *transfer(t, from, nonce, types.Account{9}, 7).Signed()
	account := types.Account(testKey(t, payer).PublicKey())
	tx.Payer = &account
	tx = must(types.Sign(tx.Transaction, testKey(t, from), [32]byte{}))(t)
	hash := types.PayerHash(tx.ID())
	tx.PayerWitness = types.WitnessKey{Signature: must(testKey(t, payer).Sign(hash[:], [32]byte{}))(t)}
	return types.VerifyWitnesses(types.Regtest, types.NewTxs(tx))[0]
}

// TestStoredBytesAreThoseThatCame changes fields of transactions that execution does not read: on the primary after
// their verification, and on the replica after their receipt. Blocks keep the bytes and IDs with which the transactions
// came.
func TestStoredBytesAreThoseThatCame(t *testing.T) {
	g := testGenesis(t)
	primary, replica := openLedger(t, g), openLedger(t, g)
	txs := []*types.VerifiedTx{sponsored(t, "alice", 0, "bob"), sponsored(t, "bob", 0, "alice")}
	var want []types.SignedTransaction
	for _, tx := range txs {
		want = append(want, *tx.Signed())
		tx.Signed().Witness = types.WitnessKey{}
	}
	built := build(t, primary, txs...)
	encoded := encodedBlock(t, primary, 1)
	if !reflect.DeepEqual(encoded.Transactions, want) {
		t.Fatalf("the primary has %+v, was given %+v", encoded.Transactions, want)
	}
	received, err := Receive(types.Regtest, encoded.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, tx := range received.txs {
		tx.Signed().Witness = types.WitnessKey{}
	}
	if _, err := replica.Import(received); err != nil {
		t.Fatal(err)
	}
	if imported := encodedBlock(t, replica, 1); !reflect.DeepEqual(imported.Transactions, want) ||
		imported.Header != built.Header.Header {
		t.Errorf("the replica has %+v, was given %+v", imported.Transactions, want)
	}
}
