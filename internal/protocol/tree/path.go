package tree

import (
	"math/bits"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// pathBits is the number of bits in a path, elementBits in each of its elements.
const (
	pathBits    = 248
	elementBits = 31
)

// Path is where key stands in the tree: S(TagPath, bytes in key, pack(key)).
func Path(key []byte) poseidon.Digest { return poseidon.Hash(poseidon.TagPath, key) }

// Paths is Path for each of keys, side by side.
func Paths(keys [][]byte) []poseidon.Digest {
	paths := make([]poseidon.Digest, len(keys))
	poseidon.HashMany(poseidon.TagPath, paths, keys)
	return paths
}

// bit is bit i of a path, 0 ≤ i < pathBits, the most significant of the first element first: 0 is left, 1 right.
func bit(path *poseidon.Digest, i int) int {
	return int(path[i/elementBits]>>(elementBits-1-i%elementBits)) & 1
}

// commonBits is the number of leading bits in which a and b agree, at most pathBits.
func commonBits(a, b *poseidon.Digest) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return elementBits*i + bits.LeadingZeros32(x) - (32 - elementBits)
		}
	}
	return pathBits
}

// comparePaths orders paths by their bits: −1, 0 or 1.
func comparePaths(a, b *poseidon.Digest) int {
	for i := range a {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// isCanonical reports whether every element of d is below the field's modulus, as the hash functions assume.
func isCanonical(d *poseidon.Digest) bool {
	for _, e := range d {
		if e >= poseidon.P {
			return false
		}
	}
	return true
}

// nodeDigest is node(left, right).
func nodeDigest(left, right poseidon.Digest) poseidon.Digest {
	var d [1]poseidon.Digest
	poseidon.Nodes(d[:], [][2]poseidon.Digest{{left, right}})
	return d[0]
}

// leafDigest is S(TagLeaf, 16, path ‖ valueHash).
func leafDigest(path, valueHash poseidon.Digest) poseidon.Digest {
	var d [1]poseidon.Digest
	poseidon.Leaves(d[:], [][2]poseidon.Digest{{path, valueHash}})
	return d[0]
}

// pairWithEmpty is what the node at the given depth over path hashes when its other child is empty.
func pairWithEmpty(d poseidon.Digest, path *poseidon.Digest, depth int) (pair [2]poseidon.Digest) {
	pair[bit(path, depth)] = d
	return pair
}
