package tree

import (
	"math/bits"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// pathBits is the number of bits in a path; elementBits is the number in each of its elements.
const (
	pathBits    = 248
	elementBits = 31
)

// Path returns the path of key in the tree: S(TagPath, bytes in key, pack(key)).
func Path(key []byte) poseidon.Digest { return poseidon.Hash(poseidon.TagPath, key) }

// Paths returns the paths of keys. It hashes them in parallel lanes.
func Paths(keys [][]byte) []poseidon.Digest {
	paths := make([]poseidon.Digest, len(keys))
	poseidon.HashMany(poseidon.TagPath, paths, keys)
	return paths
}

// bit returns bit i of a path, 0 ≤ i < pathBits, from the most significant bit of the first element on: 0 is left, 1 is
// right.
func bit(path *poseidon.Digest, i int) int {
	return int(path[i/elementBits]>>(elementBits-1-i%elementBits)) & 1
}

// commonBits returns the number of leading bits in which a and b agree, at most pathBits.
func commonBits(a, b *poseidon.Digest) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return elementBits*i + bits.LeadingZeros32(x) - (32 - elementBits)
		}
	}
	return pathBits
}

// comparePaths compares paths by their bits: −1, 0 or 1.
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

// nodeDigest returns node(left, right).
func nodeDigest(left, right poseidon.Digest) poseidon.Digest {
	var d [1]poseidon.Digest
	poseidon.Nodes(d[:], [][2]poseidon.Digest{{left, right}})
	return d[0]
}

// leafDigest returns S(TagLeaf, 16, path ‖ valueHash).
func leafDigest(path, valueHash poseidon.Digest) poseidon.Digest {
	var d [1]poseidon.Digest
	poseidon.Leaves(d[:], [][2]poseidon.Digest{{path, valueHash}})
	return d[0]
}

// pairWithEmpty returns the children of the node at depth on path: d, and the empty subtree.
func pairWithEmpty(d poseidon.Digest, path *poseidon.Digest, depth int) (pair [2]poseidon.Digest) {
	pair[bit(path, depth)] = d
	return pair
}
