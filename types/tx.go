package types

import (
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

// Tx is a signed transaction inside a node: its fields with its canonical encoding and ID, which are computed once. It
// is immutable. It does not imply a valid signature, as a [VerifiedTx] does.
type Tx struct {
	signed  SignedTransaction
	encoded []byte // bincode(SignedTransaction)
	id      TxID   // TransactionID(encoded)
}

// NewTx returns a Tx for a signed transaction.
func NewTx(signed SignedTransaction) *Tx {
	encoded := signed.Encode()
	return &Tx{signed, encoded, TransactionID(encoded)}
}

// NewTxs returns Txs for signed transactions.
func NewTxs(signed ...SignedTransaction) []*Tx {
	txs := make([]*Tx, len(signed))
	for i := range signed {
		txs[i] = NewTx(signed[i])
	}
	return txs
}

// DecodeTx is [DecodeSignedTransaction] for a Tx. It retains b as the transaction's encoding: b must not be modified,
// and the allocation that contains b lives as long as the Tx.
func DecodeTx(b []byte) (*Tx, error) {
	signed, err := DecodeSignedTransaction(b)
	if err != nil {
		return nil, err
	}
	return &Tx{signed, b, TransactionID(b)}, nil
}

// DecodeBlockTxs is [DecodeBlock] for Txs. They retain their parts of b, as with [DecodeTx].
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

// Signed returns the signed transaction. Callers must not modify it.
func (t *Tx) Signed() *SignedTransaction { return &t.signed }

// Encoded returns the canonical encoding. Callers must not modify it.
func (t *Tx) Encoded() []byte { return t.encoded }

// ID returns the transaction's hash.
func (t *Tx) ID() TxID { return t.id }

// IDs returns the IDs of transactions, in order.
func IDs(txs []*Tx) []TxID {
	ids := make([]TxID, len(txs))
	for i, tx := range txs {
		ids[i] = tx.id
	}
	return ids
}

// VerifiedTx is a transaction with a valid signature. Only [VerifySignatures] creates one, so a function that takes a
// VerifiedTx can rely on the signature without checking it again.
type VerifiedTx struct{ tx *Tx }

// Tx returns the transaction.
func (v *VerifiedTx) Tx() *Tx { return v.tx }

// Signed returns [Tx.Signed].
func (v *VerifiedTx) Signed() *SignedTransaction { return &v.tx.signed }

// Encoded returns [Tx.Encoded].
func (v *VerifiedTx) Encoded() []byte { return v.tx.encoded }

// ID returns [Tx.ID].
func (v *VerifiedTx) ID() TxID { return v.tx.id }

// VerifySignatures verifies the transactions' signatures as one batch on the calling goroutine. The result has an
// element for each transaction, which is nil if the signature is not valid.
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
