package blockproof

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// ErrAccesses is returned for an access list that is none: keys do not ascend, or two have one path.
var ErrAccesses = errors.New("blockproof: not an access list")

// Parallel calls f(0) to f(n−1), each once, in any order, on any goroutines, and returns when all have returned.
type Parallel = func(n int, f func(i int))

// entry is an access as the tree sees it.
type entry struct {
	path   poseidon.Digest
	hashes [2]poseidon.Digest // of the values before and after; meaningless for no value
	leaves [2]poseidon.Digest // before and after; zero for no value
}

func (e *entry) changed() bool { return e.leaves[0] != e.leaves[1] }

// accessesPerPiece is how many accesses are hashed in one call through Parallel.
const accessesPerPiece = 256

// newEntries hashes accesses and sorts them by path. It returns an error that wraps ErrAccesses for keys that do not
// ascend or have one path.
func newEntries(accesses []types.Access, parallel Parallel) ([]entry, error) {
	for i := range accesses {
		if i > 0 && string(accesses[i-1].Key) >= string(accesses[i].Key) {
			return nil, fmt.Errorf("%w: key %d does not ascend", ErrAccesses, i)
		}
	}
	entries := make([]entry, len(accesses))
	parallel((len(accesses)+accessesPerPiece-1)/accessesPerPiece, func(i int) {
		low, high := i*accessesPerPiece, min((i+1)*accessesPerPiece, len(accesses))
		hashEntries(entries[low:high], accesses[low:high])
	})
	slices.SortFunc(entries, func(a, b entry) int { return comparePaths(&a.path, &b.path) })
	for i := range entries {
		if i > 0 && entries[i].path == entries[i-1].path {
			return nil, fmt.Errorf("%w: two keys have the path %x", ErrAccesses, entries[i].path.Bytes())
		}
	}
	return entries, nil
}

func hashEntries(entries []entry, accesses []types.Access) {
	keys, values := make([][]byte, len(accesses)), make([][]byte, 0, 2*len(accesses))
	for i, a := range accesses {
		keys[i] = a.Key
		for _, value := range [][]byte{a.Old, a.New} {
			if len(value) > 0 {
				values = append(values, value)
			}
		}
	}
	paths, hashes := tree.Paths(keys), make([]poseidon.Digest, len(values))
	poseidon.HashMany(poseidon.TagValue, hashes, values)
	pairs := make([][2]poseidon.Digest, 0, len(values))
	leaves := make([]*poseidon.Digest, 0, len(values))
	for i, a := range accesses {
		e := &entries[i]
		e.path = paths[i]
		for v, value := range [][]byte{a.Old, a.New} {
			if len(value) > 0 {
				e.hashes[v] = hashes[len(pairs)]
				pairs, leaves = append(pairs, [2]poseidon.Digest{e.path, e.hashes[v]}), append(leaves, &e.leaves[v])
			}
		}
	}
	poseidon.Leaves(hashes, pairs)
	for i, leaf := range leaves {
		*leaf = hashes[i]
	}
}

// comparePaths orders paths by their bits: −1, 0 or 1.
func comparePaths(a, b *poseidon.Digest) int { return slices.Compare(a[:], b[:]) }

// bit is bit i of a path, the most significant of the first element first.
func bit(path *poseidon.Digest, i int) int {
	return int(path[i/elementBits]>>(elementBits-1-i%elementBits)) & 1
}

// prefix is path with zeros in the bits from level on.
func prefix(path *poseidon.Digest, level int) (p poseidon.Digest) {
	full := level / elementBits
	copy(p[:full], path[:full])
	if rest := level % elementBits; rest > 0 {
		p[full] = path[full] &^ (1<<(elementBits-rest) - 1)
	}
	return p
}

// step is the path whose only 1 is the bit at level, below pathBits.
func step(level int) (p poseidon.Digest) {
	p[level/elementBits] = 1 << (elementBits - 1 - level%elementBits)
	return p
}
