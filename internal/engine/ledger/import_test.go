package ledger

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
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

// encodedBlock is a block of a ledger.
func encodedBlock(t *testing.T, l *Ledger, h types.Height) types.Block {
	t.Helper()
	block, err := l.Store().Block(h)
	if err != nil {
		t.Fatal(err)
	}
	return block
}

// signed signs a block anew, after its transactions' root was derived anew.
func signed(t *testing.T, signer string, b types.Block) []byte {
	t.Helper()
	var ids []types.TxID
	for _, tx := range b.Transactions {
		ids = append(ids, types.TransactionID(tx.Encode()))
	}
	b.Header.TransactionsRoot = types.TransactionsRoot(ids)
	hash := b.Header.Hash()
	var err error
	if b.Signature, err = testKey(t, signer).Sign(hash[:], [32]byte{}); err != nil {
		t.Fatal(err)
	}
	return b.Encode()
}

func TestImportGivesTheSameChain(t *testing.T) {
	g := testGenesis(t)
	primary, replica := openLedger(t, g), openLedger(t, g)
	for nonce := range uint64(3) {
		built := build(
			t,
			primary,
			transfer(t, "alice", nonce, types.Account{9, byte(nonce)}, 7),
			transfer(t, "bob", nonce, types.Account{10}, 8),
		)
		received, err := Receive(encodedBlock(t, primary, types.Height(nonce+1)).Encode())
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := replica.Import(received)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%d blocks, %v", len(blocks), err)
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
	if *replica.Tip() != *primary.Tip() || replica.tree.Root() != primary.tree.Root() {
		t.Errorf("tips %+v and %+v", replica.Tip(), primary.Tip())
	}
}

// TestReceiveAll has several blocks, also without transactions, more than a batch of signatures has; then one of them
// is altered, and those before it are received.
func TestReceiveAll(t *testing.T) {
	g := testGenesis(t)
	g.Parameters.GasLimit = 1 << 34
	primary := openLedger(t, g)
	var encoded [][]byte
	var transactions [][]types.TxID
	nonce := uint64(0)
	for h, n := range []int{1, 0, signatureBatch, 3} {
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
	blocks, err := ReceiveAll(encoded)
	if err != nil {
		t.Fatal(err)
	}
	check(blocks, len(encoded))
	for bad, was := range encoded {
		for name, alter := range map[string]func([]byte) []byte{
			"cut off":           func(b []byte) []byte { return b[:len(b)-1] },
			"another header":    func(b []byte) []byte { b[0] ^= 1; return b },
			"another last byte": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"a signature replaced": func(b []byte) []byte {
				clear(b[types.SignedHeaderBytes-64 : types.SignedHeaderBytes])
				return b
			},
		} {
			altered := slices.Clone(encoded)
			altered[bad] = alter(bytes.Clone(was))
			blocks, err := ReceiveAll(altered)
			if !errors.Is(err, ErrAltered) {
				t.Errorf("block %d, %s: %v", bad+1, name, err)
			}
			check(blocks, bad)
		}
	}
}

// TestImportRefuses has one block for each rule that it breaks. None changes the chain, and the true block is taken
// after.
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
			"", header(func(h *types.Header) { h.StateRoot[0] ^= 1 }), ErrAltered, "signature",
		},
		"a transaction changed on its way": {
			"", func(b *types.Block) { b.Transactions[1].Signature[5] ^= 1 }, ErrAltered, "transactions",
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
		"another version": {
			producer, header(func(h *types.Header) { h.Version++ }), exec.ErrHeader, "version",
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
		"another writes digest": {
			producer, header(func(h *types.Header) { h.WritesDigest[0] ^= 1 }), exec.ErrHeader, "writes_digest",
		},
		"another state root": {
			producer, header(func(h *types.Header) { h.StateRoot[0] ^= 1 }), exec.ErrHeader, "state_root",
		},
		"a transaction's signature": {
			producer, func(b *types.Block) { b.Transactions[1].Signature[5] ^= 1 }, errBadSignature, "transaction 1",
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
			received, err := Receive(encoded)
			if err == nil {
				_, err = replica.Import(received)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
			var invalid *InvalidBlock
			byProducer := c.signer == producer && c.want != ErrOtherHeight && c.want != ErrOtherParent
			if errors.As(err, &invalid) != byProducer {
				t.Errorf("the producer's fault: %v", err)
			}
			if byProducer &&
				(invalid.Claimed.Header.Hash() != received.Header().Header.Hash() || !invalid.Claimed.VerifySignature()) {
				t.Errorf("the evidence is %+v", invalid.Claimed)
			}
			if replica.Tip().Header.Header.Height != 0 || replica.Store().Head().Header.Height != 0 {
				t.Fatal("the chain has changed")
			}
		})
	}
	for h := types.Height(1); h <= 2; h++ {
		received, err := Receive(encodedBlock(t, primary, h).Encode())
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

func TestImportStopsBeforeAnUnknownVersion(t *testing.T) {
	g := testGenesis(t)
	newer := g.Parameters
	newer.Version = params.Version + 1
	primary, replica := openLedger(t, g), openLedger(t, g)
	replica.tip.Store(&Tip{Header: replica.Tip().Header, Hash: replica.Tip().Hash, Parameters: newer})
	build(t, primary)
	received, err := Receive(encodedBlock(t, primary, 1).Encode())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replica.Import(received); !errors.Is(err, exec.ErrUnknownVersion) {
		t.Errorf("got %v", err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte{})
	f.Add(types.Block{}.Encode())
	f.Add(types.Block{
		Transactions: []types.SignedTransaction{{Transaction: types.Transaction{Payload: types.Transfer{}}}},
	}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		received, err := Receive(b)
		if err != nil && !errors.Is(err, ErrAltered) {
			t.Fatalf("another error: %v", err)
		}
		if err == nil && !received.Header().VerifySignature() {
			t.Fatal("a block without a signature was received")
		}
	})
}

// TestStoredBytesAreThoseThatCame changes fields of transactions that execution does not look at. It does so on the
// primary after they were verified, and on the replica after they were received. Blocks have the bytes and the IDs that
// the transactions came with.
func TestStoredBytesAreThoseThatCame(t *testing.T) {
	g := testGenesis(t)
	primary, replica := openLedger(t, g), openLedger(t, g)
	txs := []*types.VerifiedTx{transfer(t, "alice", 0, types.Account{9}, 7), transfer(t, "bob", 0, types.Account{10}, 8)}
	var want []types.SignedTransaction
	for _, tx := range txs {
		want = append(want, *tx.Signed())
		tx.Signed().Signature = types.Signature{}
	}
	built := build(t, primary, txs...)
	encoded := encodedBlock(t, primary, 1)
	if !slices.Equal(encoded.Transactions, want) {
		t.Fatalf("the primary has %+v, was given %+v", encoded.Transactions, want)
	}
	received, err := Receive(encoded.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, tx := range received.txs {
		tx.Signed().Signature = types.Signature{}
	}
	if _, err := replica.Import(received); err != nil {
		t.Fatal(err)
	}
	if imported := encodedBlock(t, replica, 1); !slices.Equal(imported.Transactions, want) ||
		imported.Header != built.Header.Header {
		t.Errorf("the replica has %+v, was given %+v", imported.Transactions, want)
	}
}
