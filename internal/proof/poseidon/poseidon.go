// Package poseidon hashes with Poseidon1 over the KoalaBear field, p = 2^31 − 2^24 + 1 (Grassi et al., eprint
// 2019/458). Its width is 16, its s-box x³, and it has 8 full and 20 partial rounds. It is used as a sponge of rate 8
// and as a 2-to-1 compression.
//
// A permutation has 4 full, 20 partial and 4 full rounds, and no linear layer before the first. Every round adds 16
// constants and cubes: all lanes, in the partial rounds lane 0 only. Then it multiplies by the circulant matrix with
// the first row 1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3.
//
// Digests have 8 elements of 31 bits, so collisions cost at most 2^124, heuristically.
//
// Everything runs on the caller's goroutine and is safe for concurrent use. Whole levels of a tree, or many messages,
// in one call fill the lanes of the vector kernels; one hash at a time runs about ten times slower.
package poseidon

import (
	"encoding/binary"
	"errors"
)

//go:generate go run ./internal/gen

// P is the modulus of the KoalaBear field.
const P = 1<<31 - 1<<24 + 1

// width is the number of elements in a state, rate how many of them a block of a message is added to.
const (
	width = 16
	rate  = 8
)

// Tags separate the domains of the sponge.
const (
	TagPath  = 1 // path of a key in the state tree
	TagValue = 2 // value in the state tree
	TagLeaf  = 3 // leaf of the state tree
)

// ErrNotCanonical is returned by ParseDigest for an element that is P or more.
var ErrNotCanonical = errors.New("poseidon: digest element is not below the field's modulus")

// Digest is a hash: 8 field elements, each below P. The functions of this package assume that and do not check it;
// ParseDigest does.
type Digest [rate]uint32

// Bytes encodes d as 8 big-endian uint32.
func (d Digest) Bytes() (b [32]byte) {
	for i, e := range d {
		binary.BigEndian.PutUint32(b[4*i:], e)
	}
	return b
}

// ParseDigest decodes 8 big-endian uint32. It returns ErrNotCanonical when one of them is P or more.
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
