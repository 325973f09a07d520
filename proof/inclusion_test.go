package proof

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/types"
)

func TestVerifyInclusion(t *testing.T) {
	var txs []*types.Tx
	var receipts []types.Receipt
	for i := range 5 {
		txs = append(txs, types.NewTx(types.SignedTransaction{
			Transaction: types.Transaction{Nonce: uint64(i), Value: 9, Payload: types.Transfer{}},
			Witness:     types.WitnessKey{Signature: types.Signature{byte(i)}},
		}))
		receipts = append(receipts, types.Receipt{Status: types.ReceiptStatus(i % 2), GasUsed: types.Gas(10_000 + i)})
	}
	header := types.Header{
		Height: 3, TransactionsRoot: lists.TransactionsRoot(txs), ReceiptsRoot: lists.ReceiptsRoot(receipts),
	}
	transactionTree := lists.NewTree(lists.TransactionLeaves(txs))
	receiptTree := lists.NewTree(lists.ReceiptLeaves(receipts))
	tx, receipt := *txs[3].Signed(), receipts[3]
	proof := func() Inclusion { return Inclusion{transactionTree.Prove(3), receiptTree.Prove(3)} }
	got, err := VerifyInclusion(&header, tx, receipt, proof())
	if want := (Included{txs[3].ID(), 3, header.Hash(), 3, 5, true}); err != nil || got != want {
		t.Fatalf("%+v, %v, want %+v", got, err, want)
	}
	if got, err := VerifyInclusion(&header, *txs[2].Signed(), receipts[2],
		Inclusion{transactionTree.Prove(2), receiptTree.Prove(2)}); err != nil || got.Success {
		t.Errorf("a failed one: got %+v, error %v", got, err)
	}
	for name, change := range map[string]func(h *types.Header, tx *types.SignedTransaction, r *types.Receipt, p *Inclusion){
		"another payment": func(_ *types.Header, tx *types.SignedTransaction, _ *types.Receipt, _ *Inclusion) { tx.Value++ },
		"another signature": func(_ *types.Header, tx *types.SignedTransaction, _ *types.Receipt, _ *Inclusion) {
			tx.Witness = types.WitnessKey{}
		},
		"a payer's witness too many": func(_ *types.Header, tx *types.SignedTransaction, _ *types.Receipt, _ *Inclusion) {
			tx.PayerWitness = types.WitnessKey{}
		},
		"another status": func(_ *types.Header, _ *types.SignedTransaction, r *types.Receipt, _ *Inclusion) { r.Status = 0 },
		"other gas":      func(_ *types.Header, _ *types.SignedTransaction, r *types.Receipt, _ *Inclusion) { r.GasUsed++ },
		"a log more": func(_ *types.Header, _ *types.SignedTransaction, r *types.Receipt, _ *Inclusion) {
			r.Logs = []types.Log{{}}
		},
		"gas beyond its limbs": func(_ *types.Header, _ *types.SignedTransaction, r *types.Receipt, _ *Inclusion) {
			r.GasUsed |= 1 << 48
		},
		"the proofs the other way round": func(_ *types.Header, _ *types.SignedTransaction, _ *types.Receipt, p *Inclusion) {
			p.Transaction, p.Receipt = p.Receipt, p.Transaction
		},
		"the receipt of another": func(_ *types.Header, _ *types.SignedTransaction, r *types.Receipt, p *Inclusion) {
			*r, p.Receipt = receipts[1], receiptTree.Prove(1)
		},
		"another n": func(_ *types.Header, _ *types.SignedTransaction, _ *types.Receipt, p *Inclusion) { p.Receipt.N++ },
		"another n of both": func(_ *types.Header, _ *types.SignedTransaction, _ *types.Receipt, p *Inclusion) {
			p.Receipt.N++
			p.Transaction.N++
		},
		"another number": func(_ *types.Header, _ *types.SignedTransaction, _ *types.Receipt, p *Inclusion) {
			p.Transaction.Number, p.Receipt.Number = 2, 2
		},
		"another sibling": func(_ *types.Header, _ *types.SignedTransaction, _ *types.Receipt, p *Inclusion) {
			p.Receipt.Siblings[1][31] ^= 1
		},
		"another block": func(h *types.Header, _ *types.SignedTransaction, _ *types.Receipt, _ *Inclusion) {
			h.TransactionsRoot[31] ^= 1
		},
		"receipts of another block": func(h *types.Header, _ *types.SignedTransaction, _ *types.Receipt, _ *Inclusion) {
			h.ReceiptsRoot[31] ^= 1
		},
		"no proof": func(_ *types.Header, _ *types.SignedTransaction, _ *types.Receipt, p *Inclusion) { *p = Inclusion{} },
	} {
		h, changedTx, changedReceipt, p := header, tx, receipt, proof()
		change(&h, &changedTx, &changedReceipt, &p)
		if got, err := VerifyInclusion(&h, changedTx, changedReceipt, p); !errors.Is(err, ErrRefused) || got != (Included{}) {
			t.Errorf("%s: got %+v, error %v", name, got, err)
		}
	}
}
