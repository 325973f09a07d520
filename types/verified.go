package types

import "github.com/cairn-chain/cairn/crypto/bip340"

// VerifiedTx is a signed transaction whose signature was found valid. Only [VerifySignatures] makes one, so what
// takes a VerifiedTx neither forgets a signature nor checks it twice. It does not change.
type VerifiedTx struct {
	signed  SignedTransaction
	encoded []byte
	id      TxID
}

// Signed is the transaction.
func (v *VerifiedTx) Signed() *SignedTransaction { return &v.signed }

// Encoded is its canonical encoding; callers must not change it.
func (v *VerifiedTx) Encoded() []byte { return v.encoded }

// ID is its hash.
func (v *VerifiedTx) ID() TxID { return v.id }

// VerifySignatures checks the transactions' signatures as one batch, on the calling goroutine. The result is as
// long as the input and nil where the signature is not valid.
func VerifySignatures(txs []SignedTransaction) []*VerifiedTx {
	verified := make([]*VerifiedTx, len(txs))
	messages := make([]bip340.SignedMessage, len(txs))
	for i, tx := range txs {
		encoded := tx.Encode()
		verified[i] = &VerifiedTx{signed: tx, encoded: encoded, id: TransactionID(encoded)}
		messages[i] = bip340.SignedMessage{
			PublicKey: tx.Sender, Message: txTag.Hash(encoded[:len(encoded)-len(tx.Signature)]), Signature: tx.Signature,
		}
	}
	for i, ok := range bip340.VerifyBatch(messages) {
		if !ok {
			verified[i] = nil
		}
	}
	return verified
}
