// Package poseidon hashes with Poseidon1 over the KoalaBear field, p = 2^31 − 2^24 + 1 (Grassi et al., eprint
// 2019/458), with width 16, s-box x³, and 8 full and 20 partial rounds. It provides a sponge of rate 8 and a 2-to-1
// compression.
//
// A permutation has 4 full, 20 partial and 4 full rounds, and no linear layer before the first. Every round adds 16
// constants, cubes all lanes (in the partial rounds lane 0 only), and multiplies by the circulant matrix with the first
// row 1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3.
//
// Digests have 8 elements of 31 bits, so finding a collision costs at most 2^124, heuristically.
//
// All functions run on the caller's goroutine and are safe for concurrent use, except Use. Passing whole levels of a
// tree, or many messages, in one call fills the lanes of the vector kernels; hashing one at a time is about ten times
// slower.
package poseidon

import (
	"encoding/binary"
	"errors"
)

//go:generate go run ./internal/gen

// P is the modulus of the KoalaBear field.
const P = 1<<31 - 1<<24 + 1

// width is the number of elements in a state. rate is the number of them to which a block of a message is added.
const (
	width = 16
	rate  = 8
)

// Tags separate the domains of the sponge.
const (
	TagPath         = 1 // path of a key in the state tree
	TagValue        = 2 // value in the state tree
	TagLeaf         = 3 // leaf of the state tree
	TagTransaction  = 4 // leaf of a transaction in a block's list
	TagTransactions = 5 // root of a block's transactions
	TagReceipt      = 6 // leaf of a receipt in a block's list
	TagReceipts     = 7 // root of a block's receipts
)

// ErrNotCanonical is returned by ParseDigest for an element that is P or more.
var ErrNotCanonical = errors.New("poseidon: digest element is not below the field's modulus")

// Digest is a hash: 8 field elements, each below P. The functions of this package require this and do not check it;
// ParseDigest checks it.
type Digest [rate]uint32

// Bytes encodes d as 8 big-endian uint32.
func (d Digest) Bytes() (b [32]byte) {
	for i, e := range d {
		binary.BigEndian.PutUint32(b[4*i:], e)
	}
	return b
}

// ParseDigest decodes 8 big-endian uint32. It returns ErrNotCanonical if one of them is P or more.
func ParseDigest(b [32]byte) (Digest, error) {
	var d Digest
	for i := range d {
		d[i] = binary.BigEndian.Uint32(b[4*i:])
		if d[i] >= P {
			return Digest{}, ErrNotCanonical
		}
	}
	return d, nil
}

// IsZero reports whether d is 8 zeros, the root of an empty tree.
func (d Digest) IsZero() bool { return d == Digest{} }

// IsCanonical reports whether every element of d is below P.
func (d *Digest) IsCanonical() bool {
	for _, e := range d {
		if e >= P {
			return false
		}
	}
	return true
}
