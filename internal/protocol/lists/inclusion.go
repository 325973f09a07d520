package lists

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// ErrInclusion is returned for an inclusion proof that does not hold.
var ErrInclusion = errors.New("lists: the inclusion proof does not hold")

// Tree is the tree over the leaves of a block's list, for inclusion proofs.
type Tree struct{ levels [][]poseidon.Digest }

// NewTree returns the tree over leaves, at least one and less than 2^18. It retains leaves.
func NewTree(leaves []poseidon.Digest) Tree {
	t := Tree{levels: [][]poseidon.Digest{leaves}}
	for height := range heightOf(len(leaves)) {
		below := t.levels[height]
		above := make([]poseidon.Digest, (len(below)+1)/2)
		level(above, below, height)
		t.levels = append(t.levels, above)
	}
	return t
}

// Prove returns the inclusion proof of the leaf with the given number, which must exist.
func (t Tree) Prove(number int) types.InclusionProof {
	leaves := t.levels[0]
	p := types.InclusionProof{
		Number:   uint32(number),
		N:        uint32(len(leaves)),
		Leaf:     leaves[number].Bytes(),
		Siblings: make([][32]byte, len(t.levels)-1),
	}
	for height := range p.Siblings {
		sibling := zeros[height]
		if at := number>>height ^ 1; at < len(t.levels[height]) {
			sibling = t.levels[height][at]
		}
		p.Siblings[height] = sibling.Bytes()
	}
	return p
}

// CheckTransaction checks that p holds under root as a transactions_root, and that its leaf is tx's. Otherwise it
// returns an error that wraps ErrInclusion.
func CheckTransaction(root types.MerkleRoot, tx *types.Tx, p *types.InclusionProof) error {
	if TransactionLeaf(tx).Bytes() != p.Leaf {
		return fmt.Errorf("%w: the leaf belongs to another transaction or witness", ErrInclusion)
	}
	return check(poseidon.TagTransactions, root, p)
}

// CheckReceipt is [CheckTransaction] for a receipt and a receipts_root.
func CheckReceipt(root types.MerkleRoot, r *types.Receipt, p *types.InclusionProof) error {
	if r.GasUsed > maxLeafGas {
		return fmt.Errorf("%w: no block has a receipt of %d gas", ErrInclusion, r.GasUsed)
	}
	if ReceiptLeaf(r).Bytes() != p.Leaf {
		return fmt.Errorf("%w: the leaf belongs to another receipt", ErrInclusion)
	}
	return check(poseidon.TagReceipts, root, p)
}

// check checks that p holds under root, the root of the list with the given tag.
func check(tag uint32, root types.MerkleRoot, p *types.InclusionProof) error {
	switch {
	case p.N < 1 || p.N >= 1<<maxHeight:
		return fmt.Errorf("%w: a list of %d items", ErrInclusion, p.N)
	case p.Number >= p.N:
		return fmt.Errorf("%w: number %d of %d", ErrInclusion, p.Number, p.N)
	case len(p.Siblings) != heightOf(int(p.N)):
		return fmt.Errorf("%w: %d siblings in a list of %d items", ErrInclusion, len(p.Siblings), p.N)
	}
	d, err := poseidon.ParseDigest(p.Leaf)
	if err != nil {
		return fmt.Errorf("%w: leaf: %w", ErrInclusion, err)
	}
	for height, encoded := range p.Siblings {
		sibling, err := poseidon.ParseDigest(encoded)
		if err != nil {
			return fmt.Errorf("%w: sibling %d: %w", ErrInclusion, height, err)
		}
		pair := [2]poseidon.Digest{d, sibling}
		if p.Number>>height&1 == 1 {
			pair[0], pair[1] = sibling, d
		}
		var node [1]poseidon.Digest
		poseidon.Nodes(node[:], [][2]poseidon.Digest{pair})
		d = node[0]
	}
	if rootDigest(tag, int(p.N), d).Bytes() != root {
		return fmt.Errorf("%w: it leads to a different root", ErrInclusion)
	}
	return nil
}
