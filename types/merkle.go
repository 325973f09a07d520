package types

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/codec"
)

// NewMerkleRoot returns the Merkle tree hash of RFC 6962 §2.1 with SHA-256. It is SHA256("") for no leaf, SHA256(00 ‖
// leaf) for one leaf, and SHA256(01 ‖ left ‖ right) for more leaves, where left covers the largest power of two below
// their number.
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

// TransactionsRoot returns a header's transactions_root, the Merkle root of the transactions' hashes.
func TransactionsRoot(ids []TxID) MerkleRoot {
	leaves := make([][]byte, len(ids))
	for i := range ids {
		leaves[i] = ids[i][:]
	}
	return NewMerkleRoot(leaves)
}

// ReceiptsRoot returns a header's receipts_root, the Merkle root of the encoded receipts.
func ReceiptsRoot(receipts []Receipt) MerkleRoot {
	leaves := make([][]byte, len(receipts))
	e := codec.NewEncoder(128 * len(receipts))
	for i, r := range receipts {
		start := e.Len()
		r.EncodeTo(e)
		leaves[i] = e.Data()[start:] // stays unchanged when the encoder switches to another buffer
	}
	return NewMerkleRoot(leaves)
}
