package types

import "github.com/cairn-chain/cairn/codec"

// Tx is a signed transaction inside a node: its fields with its canonical encoding and ID, which are computed once. It
// is immutable. It does not imply valid witnesses, as a [VerifiedTx] does.
type Tx struct {
	signed  SignedTransaction
	encoded []byte // bincode(SignedTransaction)
	end     int    // offset in encoded of the witnesses
	id      TxID   // Transaction.Hash
}

// NewTx returns a Tx for a signed transaction.
func NewTx(signed SignedTransaction) *Tx {
	e := codec.NewEncoder(256)
	e.U8(TransactionVersion)
	signed.Transaction.encode(e)
	end := e.Len()
	signed.encodeWitnesses(e)
	return &Tx{signed, e.Data(), end, hashTransaction(e.Data()[1:end])}
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
	if err := checkTransactionSize(len(b)); err != nil {
		return nil, err
	}
	d := codec.NewDecoder(b)
	tx := &Tx{encoded: b}
	tx.end = decodeSignedTransaction(d, &tx.signed)
	if err := d.Finish(); err != nil {
		return nil, err
	}
	tx.id = hashTransaction(b[1:tx.end])
	return tx, nil
}

// TransactionID returns the ID of an encoded signed transaction. It does not check what follows the transaction itself.
func TransactionID(b []byte) (TxID, error) {
	var tx Transaction
	d := codec.NewDecoder(b)
	decodeVersion(d)
	decodeTransaction(d, &tx)
	if err := d.Err(); err != nil {
		return TxID{}, err
	}
	return hashTransaction(b[1:d.Offset()]), nil
}

// DecodeBlockTxs is [DecodeBlock] for Txs. They retain their parts of b, as with [DecodeTx].
func DecodeBlockTxs(b []byte) (SignedHeader, []*Tx, error) {
	header, decoded, err := decodeBlock(b, func(d *codec.Decoder, tx *Tx) {
		start := d.Offset()
		tx.end = decodeSignedTransaction(d, &tx.signed) - start
		tx.encoded = b[start:d.Offset():d.Offset()]
	})
	if err != nil {
		return header, nil, err
	}
	txs := make([]*Tx, len(decoded))
	for i := range decoded {
		decoded[i].id = hashTransaction(decoded[i].encoded[1:decoded[i].end])
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

// WitnessDigest returns [SignedTransaction.WitnessDigest].
func (t *Tx) WitnessDigest() Digest { return Digest(witnessTag.Hash(t.encoded[t.end:])) }

// IDs returns the IDs of transactions, in order.
func IDs(txs []*Tx) []TxID {
	ids := make([]TxID, len(txs))
	for i, tx := range txs {
		ids[i] = tx.id
	}
	return ids
}

// VerifiedTx is a transaction whose witnesses hold. Only [VerifyWitnesses] creates one, so a function that takes a
// VerifiedTx can rely on the signatures without checking them again. Only the state says whether the authorities that
// the witnesses claim are in force.
type VerifiedTx struct {
	tx                *Tx
	claim, payerClaim Account
}

// Tx returns the transaction.
func (v *VerifiedTx) Tx() *Tx { return v.tx }

// Signed returns [Tx.Signed].
func (v *VerifiedTx) Signed() *SignedTransaction { return &v.tx.signed }

// Encoded returns [Tx.Encoded].
func (v *VerifiedTx) Encoded() []byte { return v.tx.encoded }

// ID returns [Tx.ID].
func (v *VerifiedTx) ID() TxID { return v.tx.id }

// Claim returns the authority that the sender's witness claims.
func (v *VerifiedTx) Claim() Account { return v.claim }

// PayerClaim returns the authority that the payer's witness claims, or zero if there is no payer.
func (v *VerifiedTx) PayerClaim() Account { return v.payerClaim }
