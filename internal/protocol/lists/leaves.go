package lists

import (
	"encoding/binary"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Elements of the messages that leaves are the hashes of.
const (
	signedElements  = (32 + 64) / 2 // pair(hash ‖ signature)
	receiptElements = 32/2 + 4      // pair(details) ‖ status, g₀, g₁, g₂
)

// maxLeafGas bounds the gas used in a receipt that has a leaf: it has three limbs.
const maxLeafGas = 1<<48 - 1

// TransactionLeaf returns the leaf of a transaction in its block's list.
func TransactionLeaf(tx *types.Tx) poseidon.Digest {
	var leaf [1]poseidon.Digest
	transactionLeaves(leaf[:], []*types.Tx{tx})
	return leaf[0]
}

// TransactionLeaves returns the leaves of transactions. It hashes them in parallel lanes.
func TransactionLeaves(txs []*types.Tx) []poseidon.Digest {
	leaves := make([]poseidon.Digest, len(txs))
	for first := range slices.Chunk(leaves, run) {
		transactionLeaves(first, txs[:len(first)])
		txs = txs[len(first):]
	}
	return leaves
}

// transactionLeaves computes the leaves of at most [run] transactions.
func transactionLeaves(leaves []poseidon.Digest, txs []*types.Tx) {
	var (
		messages [run]poseidon.Message
		room     = make([]uint32, 0, len(txs)*signedElements)
	)
	for i, tx := range txs {
		start := len(room)
		id := tx.ID()
		room = poseidon.Pair(room, id[:])
		signed := tx.Signed()
		// In a block, a transaction has a payer's witness only if it names a payer. Other leaves with such a witness
		// contain the digest, so they equal no leaf of a block.
		if key, ok := signed.Witness.(types.WitnessKey); ok && signed.Payer == nil && signed.PayerWitness == nil {
			room = poseidon.Pair(room, key.Signature[:])
		} else {
			digest := tx.WitnessDigest()
			room = poseidon.Pair(room, digest[:])
		}
		elements := room[start:]
		messages[i] = poseidon.Message{N: uint32(2 * len(elements)), Elements: elements}
	}
	poseidon.Sponge(poseidon.TagTransaction, leaves, messages[:len(txs)])
}

// ReceiptLeaf returns the leaf of a receipt in its block's list. A receipt of 2^48 gas or more, which no block has, has
// the zero digest.
func ReceiptLeaf(r *types.Receipt) poseidon.Digest {
	var leaf [1]poseidon.Digest
	receiptLeaves(leaf[:], []types.Receipt{*r})
	return leaf[0]
}

// ReceiptLeaves returns the leaves of receipts. It hashes them in parallel lanes.
func ReceiptLeaves(receipts []types.Receipt) []poseidon.Digest {
	leaves := make([]poseidon.Digest, len(receipts))
	for first := range slices.Chunk(leaves, run) {
		receiptLeaves(first, receipts[:len(first)])
		receipts = receipts[len(first):]
	}
	return leaves
}

// receiptLeaves computes the leaves of at most [run] receipts. Plain transfers have equal receipts, which it hashes once.
func receiptLeaves(leaves []poseidon.Digest, receipts []types.Receipt) {
	var (
		messages [run]poseidon.Message
		hashes   [run]poseidon.Digest
		places   [run]uint8 // of each receipt's hash
		count    int
		room     = make([]uint32, 0, receiptElements)
	)
	for i := range receipts {
		if i == 0 || !equalPlain(&receipts[i], &receipts[i-1]) {
			start := len(room)
			room = receiptMessage(room, &receipts[i])
			messages[count] = poseidon.Message{N: receiptElements, Elements: room[start:]}
			count++
		}
		places[i] = uint8(count - 1)
	}
	poseidon.Sponge(poseidon.TagReceipt, hashes[:count], messages[:count])
	for i := range receipts {
		leaves[i] = hashes[places[i]]
		if receipts[i].GasUsed > maxLeafGas {
			leaves[i] = poseidon.Digest{}
		}
	}
}

// equalPlain reports whether two receipts have the same status and gas, and nothing else.
func equalPlain(a, b *types.Receipt) bool {
	plain := func(r *types.Receipt) bool { return r.Contract == nil && len(r.Output) == 0 && len(r.Logs) == 0 }
	return a.Status == b.Status && a.GasUsed == b.GasUsed && plain(a) && plain(b)
}

// receiptMessage appends pair(details) ‖ status, g₀, g₁, g₂.
func receiptMessage(elements []uint32, r *types.Receipt) []uint32 {
	details := r.Details()
	elements = poseidon.Pair(elements, details[:])
	var gas [8]byte
	binary.BigEndian.PutUint64(gas[:], uint64(r.GasUsed))
	elements = append(elements, uint32(r.Status))
	limb := func(i int) uint32 { return uint32(gas[i])<<8 | uint32(gas[i+1]) }
	return append(elements, limb(6), limb(4), limb(2))
}
