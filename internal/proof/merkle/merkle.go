// Package merkle commits to rows by a binary tree of SHA-256 over a power of two of them. A leaf is H(0 ‖ row) and a
// node is H(1 ‖ left ‖ right), the tags 0 and 1 four bytes little-endian. An opening of several rows has no node twice
// and none that the verifier computes itself.
package merkle

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/sha"
)

// Size is the length of a digest in bytes.
const Size = sha256.Size

// Digest is a node's hash.
type Digest = [Size]byte

// ErrRoot says that opened rows do not hash to the root.
var ErrRoot = errors.New("opened rows are not those committed to")

// What precedes the content of leaf and node in the hash.
const (
	tagLeaf uint32 = iota
	tagNode
)

// Leaves sets dst[i] to the leaf of the row that columns have at first + i: their canonical integers, each four bytes
// little-endian.
func Leaves(dst []Digest, columns []field.Vector, first int) {
	sha.HashRows(dst, tagLeaf, columns, first)
}

// rowLeaves returns the leaves of n rows, which stand in rows one after the other.
func rowLeaves(n int, rows []byte) []Digest {
	size := len(rows) / n
	words := make([]uint32, (1+size/4)*n)
	for i := range n {
		words[i] = tagLeaf
		row := rows[i*size : (i+1)*size]
		for k := range size / 4 {
			words[(1+k)*n+i] = binary.LittleEndian.Uint32(row[4*k:])
		}
	}
	leaves := make([]Digest, n)
	sha.Hash(leaves, words)
	return leaves
}

// Tree is a committed tree of n leaves: nodes[n+i] is leaf i, and node k's children are 2k and 2k+1.
type Tree struct {
	nodes []Digest
}

// subtree is at most how many leaves one call takes up to their common node.
const subtree = 1 << 12

// New returns a tree in nodes, which has the length 2n and the leaves in its second half; n is a power of two. parallel
// runs f(i) for each i below n in any order.
func New(nodes []Digest, parallel func(n int, f func(i int))) *Tree {
	leaves := len(nodes) / 2
	trees := max(1, leaves/subtree)
	// levels computes n of a level's width nodes from number i·n on, and those above them.
	levels := func(width, n, i int) {
		for ; n >= 1; width, n = width/2, n/2 {
			from := width + i*n
			sha.HashPairs(nodes[from:from+n], tagNode, nodes[2*from:2*(from+n)])
		}
	}
	parallel(trees, func(i int) { levels(leaves/2, leaves/trees/2, i) })
	levels(trees/2, trees/2, 0)
	return &Tree{nodes}
}

// Root returns the root.
func (t *Tree) Root() Digest { return t.nodes[1] }

// AppendOpening appends the siblings that Verify needs for the leaves at indices, which must ascend without repetition.
func (t *Tree) AppendOpening(b []byte, indices []int) []byte {
	level := slices.Clone(indices)
	for width := len(t.nodes) / 2; width > 1; width /= 2 {
		level = climb(level, func(_, sibling int) {
			b = append(b, t.nodes[width+sibling][:]...)
		}, func(int, int) {})
	}
	return b
}

// MostSiblings is how many siblings an opening of so many leaves of a tree of 2^log has at most.
func MostSiblings(leaves, log int) (most int) {
	for level := range log { // of as many parents as can be, what is not known of both halves
		most += 2*min(leaves, 1<<level) - min(leaves, 2<<level)
	}
	return most
}

// climb goes from a level to the one above it and returns the parents. It calls single for each node whose sibling is
// not among them, with its position in level and its sibling's index. It calls both for each pair, with the positions.
func climb(level []int, single func(position, sibling int), both func(left, right int)) []int {
	parents := level[:0]
	for i := 0; i < len(level); i++ {
		index := level[i]
		if i+1 < len(level) && index&1 == 0 && level[i+1] == index+1 {
			both(i, i+1)
			i++
		} else {
			single(i, index^1)
		}
		parents = append(parents, index>>1)
	}
	return parents
}

// Verify fails with ErrRoot unless root is that of a tree of 2^log leaves which has at indices the leaves of rows. The
// siblings that next returns one by one show that; next's error is Verify's. rows has for each of indices a row, one
// after the other and all of the same length, a multiple of four bytes. indices must not be empty and ascend without
// repetition.
func Verify(root *Digest, log int, indices []int, rows []byte, next func() (Digest, error)) (err error) {
	level, hashes := slices.Clone(indices), rowLeaves(len(indices), rows)
	children := make([]Digest, 2*len(hashes))
	for range log {
		n := 0 // how many parents have their children
		level = climb(level, func(i, sibling int) {
			other, failed := next()
			if failed != nil {
				err = failed
			}
			pair := children[2*n:]
			pair[sibling&1], pair[sibling&1^1] = other, hashes[i]
			n++
		}, func(left, right int) {
			children[2*n], children[2*n+1] = hashes[left], hashes[right]
			n++
		})
		if err != nil {
			return err
		}
		hashes = hashes[:n]
		sha.HashPairs(hashes, tagNode, children[:2*n])
	}
	if hashes[0] != *root {
		return ErrRoot
	}
	return nil
}
