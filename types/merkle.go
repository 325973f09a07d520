package types

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/codec"
)

// NewMerkleRoot is the Merkle tree hash of RFC 6962 §2.1 with SHA-256 over the leaves. It is SHA256(00 ‖ leaf) of one,
// and SHA256(01 ‖ left ‖ right) of more, where left is over the largest power of two below their number. It is
// SHA256("") of none.
func NewMerkleRoot(leaves [][]byte) MerkleRoot {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		var room [256]byte // nearly always enough
		return sha256.Sum256(append(append(room[:0], 0), leaves[0]...))
	}
	split := 1
	for split*2 < len(leaves) {
		split *= 2
	}
	left, right := NewMerkleRoot(leaves[:split]), NewMerkleRoot(leaves[split:])
	var node [65]byte
	node[0] = 1
	copy(node[1:], left[:])
	copy(node[33:], right[:])
	return sha256.Sum256(node[:])
}

// TransactionsRoot is a header's transactions_root: over the transactions' hashes.
func TransactionsRoot(ids []TxID) MerkleRoot {
	leaves := make([][]byte, len(ids))
	for i := range ids {
		leaves[i] = ids[i][:]
	}
	return NewMerkleRoot(leaves)
}

// ReceiptsRoot is a header's receipts_root: over the encoded receipts.
func ReceiptsRoot(receipts []Receipt) MerkleRoot {
	leaves := make([][]byte, len(receipts))
	e := codec.NewEncoder(128 * len(receipts))
	for i, r := range receipts {
		start := e.Len()
		r.EncodeTo(e)
		leaves[i] = e.Data()[start:] // stays as it is when the encoder goes on to another buffer
	}
	return NewMerkleRoot(leaves)
}
