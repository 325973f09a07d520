// Package merkle commits to rows, a power of two of them, by a binary tree with SHA-256. A leaf is H(0 ‖ row) and a
// node is H(1 ‖ left ‖ right), with the tags 0 and 1 as four bytes little-endian. An opening of several rows contains
// no node twice, and no node that the verifier can compute.
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

// ErrRoot is returned if opened rows do not hash to the root.
var ErrRoot = errors.New("opened rows differ from the committed ones")

// Tags that precede the content of a leaf and of a node in the hash.
const (
	tagLeaf uint32 = iota
	tagNode
)

// Leaves sets dst[i] to the leaf of row first + i of the columns: the row's canonical integers, each four bytes
// little-endian.
func Leaves(dst []Digest, columns []field.Vector, first int) {
	sha.HashRows(dst, tagLeaf, columns, first)
}

// rowLeaves returns the leaves of n rows, which are concatenated in rows.
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

// Tree is a committed tree of n leaves. nodes[n+i] is leaf i, and the children of node k are 2k and 2k+1.
type Tree struct {
	nodes []Digest
}

// subtree is the maximum number of leaves that one call reduces to their common ancestor.
const subtree = 1 << 12

// New returns a tree that uses nodes, which has length 2n with the leaves in its second half; n must be a power of two.
// parallel runs f(i) for each i below n in any order.
func New(nodes []Digest, parallel func(n int, f func(i int))) *Tree {
	leaves := len(nodes) / 2
	trees := max(1, leaves/subtree)
	// levels computes n nodes of a level of the given width, from number i·n on, and the nodes above them.
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

// MostSiblings returns the maximum number of siblings in an opening of the given number of leaves of a tree of 2^log
// leaves.
func MostSiblings(leaves, log int) (most int) {
	for level := range log { // at most 2·parents − nodes siblings, with as many parents as possible
		most += 2*min(leaves, 1<<level) - min(leaves, 2<<level)
	}
	return most
}

// climb goes from a level to the one above it and returns the parents. It calls single for each node whose sibling is
// not in level, with its position in level and the sibling's index. It calls both for each pair, with the positions.
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

// Verify returns ErrRoot unless root is the root of a tree of 2^log leaves that has the leaves of rows at indices. next
// returns the siblings one by one; Verify returns its error. rows is the concatenation of one row for each of indices,
// all of the same length, a multiple of four bytes. indices must not be empty and must ascend without repetition.
func Verify(root *Digest, log int, indices []int, rows []byte, next func() (Digest, error)) (err error) {
	level, hashes := slices.Clone(indices), rowLeaves(len(indices), rows)
	children := make([]Digest, 2*len(hashes))
	for range log {
		n := 0 // number of parents whose children are known
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
