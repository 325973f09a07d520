package types

import (
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

// Tx is a signed transaction on its way through a node: its fields, and its canonical bytes and ID, which are made
// once. It does not change. Whether the signature is valid it does not say: a [VerifiedTx] does.
type Tx struct {
	signed  SignedTransaction
	encoded []byte // bincode(SignedTransaction)
	id      TxID   // TransactionID(encoded)
}

// NewTx encodes a signed transaction.
func NewTx(signed SignedTransaction) *Tx {
	encoded := signed.Encode()
	return &Tx{signed, encoded, TransactionID(encoded)}
}

// NewTxs encodes signed transactions.
func NewTxs(signed ...SignedTransaction) []*Tx {
	txs := make([]*Tx, len(signed))
	for i := range signed {
		txs[i] = NewTx(signed[i])
	}
	return txs
}

// DecodeTx is [DecodeSignedTransaction] that keeps b, which is the transaction's encoding. Nobody may change b, and all
// of the memory that it is a part of lives as long as the transaction.
func DecodeTx(b []byte) (*Tx, error) {
	signed, err := DecodeSignedTransaction(b)
	if err != nil {
		return nil, err
	}
	return &Tx{signed, b, TransactionID(b)}, nil
}

// DecodeBlockTxs is [DecodeBlock] with transactions that keep their part of b, as those of [DecodeTx] do.
func DecodeBlockTxs(b []byte) (SignedHeader, []*Tx, error) {
	header, decoded, err := decodeBlock(b, func(d *codec.Decoder) Tx {
		start := d.Offset()
		signed := decodeSignedTransaction(d)
		return Tx{signed: signed, encoded: b[start:d.Offset():d.Offset()]}
	})
	if err != nil {
		return header, nil, err
	}
	txs := make([]*Tx, len(decoded))
	for i := range decoded {
		decoded[i].id = TransactionID(decoded[i].encoded)
		txs[i] = &decoded[i]
	}
	return header, txs, nil
}

// Signed is the transaction; callers must not change it.
func (t *Tx) Signed() *SignedTransaction { return &t.signed }

// Encoded is its canonical encoding; callers must not change it.
func (t *Tx) Encoded() []byte { return t.encoded }

// ID is its hash.
func (t *Tx) ID() TxID { return t.id }

// IDs are those of transactions, in their order.
func IDs(txs []*Tx) []TxID {
	ids := make([]TxID, len(txs))
	for i, tx := range txs {
		ids[i] = tx.id
	}
	return ids
}

// VerifiedTx is a transaction whose signature was found valid. Only [VerifySignatures] makes one, so what takes a
// VerifiedTx neither forgets a signature nor checks it twice.
type VerifiedTx struct{ tx *Tx }

// Tx is what was verified.
func (v *VerifiedTx) Tx() *Tx { return v.tx }

// Signed is that of the [Tx].
func (v *VerifiedTx) Signed() *SignedTransaction { return &v.tx.signed }

// Encoded is that of the [Tx].
func (v *VerifiedTx) Encoded() []byte { return v.tx.encoded }

// ID is that of the [Tx].
func (v *VerifiedTx) ID() TxID { return v.tx.id }

// VerifySignatures checks the transactions' signatures as one batch, on the calling goroutine. The result is as
// long as the input and nil where the signature is not valid.
func VerifySignatures(txs []*Tx) []*VerifiedTx {
	messages := make([]bip340.SignedMessage, len(txs))
	for i, tx := range txs {
		signed := &tx.signed
		messages[i] = bip340.SignedMessage{
			PublicKey: signed.Sender,
			Message:   txTag.Hash(tx.encoded[:len(tx.encoded)-len(signed.Signature)]),
			Signature: signed.Signature,
		}
	}
	verified := make([]*VerifiedTx, len(txs))
	for i, ok := range bip340.VerifyBatch(messages) {
		if ok {
			verified[i] = &VerifiedTx{txs[i]}
		}
	}
	return verified
}
