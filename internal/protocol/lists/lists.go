// Package lists has the hashes of a block's two lists: its transactions and their receipts. A header commits to each by
// a root, and a Merkle path leads from an element to the root.
//
// The leaf of a transaction with the witness Key and no payer is S(4, 96, pair(hash ‖ signature)), that of any other
// S(4, 64, pair(hash ‖ witness digest)), and that of a receipt S(6, 20, pair(details) ‖ status, g₀, g₁, g₂), where the
// g are the 16-bit limbs of the gas used. T of n leaves is the root of the binary tree over the leaves and as many zero
// digests as fill up its lowest level. The roots are S(5, n, T) and S(7, n, T): they bind the number of elements.
//
// A transaction and its receipt have the same number, so two inclusion proofs with that number show that a payment was
// made. A node answers both by the method svc_getInclusionProof, whose parameter is the transaction's hash, with
//
//	{"header", "transaction": {"number", "n", "leaf", "siblings"}, "receipt": {"number", "n", "leaf", "siblings"}}
//
// where header is the SignedHeader in hex. A client gets the transaction and its receipt from elsewhere, and computes
// both leaves; package proof does that.
package lists

import (
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Parallel calls f(0) to f(n−1), each once, in any order and on any goroutines, and returns when all have returned.
type Parallel = func(n int, f func(i int))

// InOrder is a sequential [Parallel].
func InOrder(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// maxHeight is the height of the largest tree: a list has less than 2^maxHeight elements.
const maxHeight = 18

// TransactionsRoot returns a header's transactions_root.
func TransactionsRoot(txs []*types.Tx) types.MerkleRoot { return TransactionsRootBy(txs, InOrder) }

// TransactionsRootBy is [TransactionsRoot], hashing runs of transactions in parallel.
func TransactionsRootBy(txs []*types.Tx, parallel Parallel) types.MerkleRoot {
	return rootOf(poseidon.TagTransactions, len(txs), func(leaves []poseidon.Digest, first int) {
		transactionLeaves(leaves, txs[first:first+len(leaves)])
	}, parallel)
}

// ReceiptsRoot returns a header's receipts_root.
func ReceiptsRoot(receipts []types.Receipt) types.MerkleRoot {
	return ReceiptsRootBy(receipts, InOrder)
}

// ReceiptsRootBy is [ReceiptsRoot], hashing runs of receipts in parallel.
func ReceiptsRootBy(receipts []types.Receipt, parallel Parallel) types.MerkleRoot {
	return rootOf(poseidon.TagReceipts, len(receipts), func(leaves []poseidon.Digest, first int) {
		receiptLeaves(leaves, receipts[first:first+len(leaves)])
	}, parallel)
}

// A run is as many leaves as are hashed at a time: enough to fill the lanes of the hash on every level but the last
// few. It is the subtree of height runHeight.
const (
	runHeight = 8
	run       = 1 << runHeight
)

// rootOf returns the root of a list of n elements, of which leavesFrom computes the leaves from first on.
func rootOf(
	tag uint32, n int, leavesFrom func(leaves []poseidon.Digest, first int), parallel Parallel,
) types.MerkleRoot {
	height, runs := heightOf(n), make([]poseidon.Digest, (n+run-1)/run)
	parallel(len(runs), func(i int) {
		var leaves [run]poseidon.Digest
		count := min(run, n-i*run)
		leavesFrom(leaves[:count], i*run)
		runs[i] = fold(leaves[:count], 0, min(runHeight, height))
	})
	return rootDigest(tag, n, fold(runs, min(runHeight, height), height)).Bytes()
}

// heightOf returns ⌈log₂ n⌉, the height of the tree over n leaves.
func heightOf(n int) int {
	height := 0
	for 1<<height < n {
		height++
	}
	return height
}

// fold returns the digest at height to above the given digests, which are the first ones at height from and the only
// ones there with a leaf below. It overwrites them.
func fold(digests []poseidon.Digest, from, to int) poseidon.Digest {
	if len(digests) == 0 {
		return zeros[to]
	}
	for height := from; height < to; height++ {
		digests = digests[:level(digests, digests, height)]
	}
	return digests[0]
}

// level computes the digests above those at the given height into dst, which may be src, and returns their number.
func level(dst, src []poseidon.Digest, height int) int {
	var (
		pairs [run / 2][2]poseidon.Digest
		count = 0
	)
	for len(src) > 0 {
		n := 0
		for ; n < len(pairs) && len(src) > 0; n++ {
			pairs[n] = [2]poseidon.Digest{src[0], zeros[height]}
			if len(src) > 1 {
				pairs[n][1] = src[1]
			}
			src = src[min(2, len(src)):]
		}
		poseidon.Nodes(dst[count:count+n], pairs[:n])
		count += n
	}
	return count
}

// zeros holds, for each height, the digest of the subtree over zero digests alone.
var zeros = func() (all [maxHeight + 1]poseidon.Digest) {
	for i := range maxHeight {
		poseidon.Nodes(all[i+1:i+2], [][2]poseidon.Digest{{all[i], all[i]}})
	}
	return all
}()

// rootDigest returns S(tag, n, T).
func rootDigest(tag uint32, n int, t poseidon.Digest) poseidon.Digest {
	var root [1]poseidon.Digest
	poseidon.Sponge(tag, root[:], []poseidon.Message{{N: uint32(n), Elements: t[:]}})
	return root[0]
}
