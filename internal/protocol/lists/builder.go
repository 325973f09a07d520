package lists

import (
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Transactions computes the root of transactions that come one by one, so that little is left to do when the last one
// is there. The zero value is an empty list.
type Transactions struct {
	list
	waiting []*types.Tx
}

// Add appends a transaction. It retains tx until the run of transactions that it is in is full.
func (l *Transactions) Add(tx *types.Tx) {
	l.n++
	if l.waiting = append(l.waiting, tx); len(l.waiting) == run {
		var leaves [run]poseidon.Digest
		transactionLeaves(leaves[:], l.waiting)
		l.close(leaves[:])
		clear(l.waiting)
		l.waiting = l.waiting[:0]
	}
}

// Root returns the transactions_root of the transactions so far.
func (l *Transactions) Root() types.MerkleRoot {
	var leaves [run]poseidon.Digest
	rest := leaves[:len(l.waiting)]
	transactionLeaves(rest, l.waiting)
	return l.root(poseidon.TagTransactions, rest)
}

// Receipts is [Transactions] for receipts.
type Receipts struct {
	list
	waiting []types.Receipt
}

// Add appends a receipt.
func (l *Receipts) Add(r types.Receipt) {
	l.n++
	if l.waiting = append(l.waiting, r); len(l.waiting) == run {
		var leaves [run]poseidon.Digest
		receiptLeaves(leaves[:], l.waiting)
		l.close(leaves[:])
		clear(l.waiting)
		l.waiting = l.waiting[:0]
	}
}

// Root returns the receipts_root of the receipts so far.
func (l *Receipts) Root() types.MerkleRoot {
	var leaves [run]poseidon.Digest
	rest := leaves[:len(l.waiting)]
	receiptLeaves(rest, l.waiting)
	return l.root(poseidon.TagReceipts, rest)
}

// list is the part of a list whose runs are full.
type list struct {
	n    int // number of elements, those that wait for their run to be full too
	runs []poseidon.Digest
}

// close appends a full run.
func (l *list) close(leaves []poseidon.Digest) { l.runs = append(l.runs, fold(leaves, 0, runHeight)) }

// root returns the root of the list that ends with the leaves rest. It leaves the list as it is.
func (l *list) root(tag uint32, rest []poseidon.Digest) types.MerkleRoot {
	runs := append(make([]poseidon.Digest, 0, len(l.runs)+1), l.runs...)
	if len(rest) > 0 {
		runs = append(runs, fold(rest, 0, min(runHeight, heightOf(l.n))))
	}
	return top(tag, runs, l.n)
}
