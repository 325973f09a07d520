package blockproof

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// ErrAccesses is returned for an invalid access list: keys do not ascend, or two keys have the same path.
var ErrAccesses = errors.New("blockproof: not an access list")

// Parallel calls f(0) to f(n−1), each once, in any order and on any goroutines, and returns when all have returned.
type Parallel = func(n int, f func(i int))

// entry is an access in the form that the tree uses.
type entry struct {
	path   poseidon.Digest
	leaves [2]poseidon.Digest  // leaf digests before and after; zero if there is no value
	hashes *[2]poseidon.Digest // value hashes before and after, meaningless if there is no value; a verifier keeps none
}

func (e *entry) changed() bool { return e.leaves[0] != e.leaves[1] }

const (
	// accessesPerPiece is the number of accesses that are hashed at a time, and the minimum per call through Parallel.
	accessesPerPiece = 256
	// mostCalls is the maximum number of calls through Parallel: each takes memory, which it reuses for all of its
	// pieces.
	mostCalls = 256
)

// newEntries hashes accesses and sorts them by path; a prover keeps the value hashes. It returns an error that wraps
// ErrAccesses if keys do not ascend or two keys have the same path.
func newEntries(accesses []types.Access, keepHashes bool, parallel Parallel) ([]entry, error) {
	for i := range accesses {
		if i > 0 && string(accesses[i-1].Key) >= string(accesses[i].Key) {
			return nil, fmt.Errorf("%w: key %d does not ascend", ErrAccesses, i)
		}
	}
	entries := make([]entry, len(accesses))
	if keepHashes {
		hashes := make([][2]poseidon.Digest, len(accesses))
		for i := range entries {
			entries[i].hashes = &hashes[i]
		}
	}
	perCall := max(accessesPerPiece, (len(accesses)+mostCalls-1)/mostCalls)
	parallel((len(accesses)+perCall-1)/perCall, func(i int) {
		var h hasher
		for low, end := i*perCall, min((i+1)*perCall, len(accesses)); low < end; low += accessesPerPiece {
			high := min(low+accessesPerPiece, end)
			h.hash(entries[low:high], accesses[low:high])
		}
	})
	slices.SortFunc(entries, func(a, b entry) int { return comparePaths(&a.path, &b.path) })
	for i := range entries {
		if i > 0 && entries[i].path == entries[i-1].path {
			return nil, fmt.Errorf("%w: two keys have the path %x", ErrAccesses, entries[i].path.Bytes())
		}
	}
	return entries, nil
}

// hasher hashes pieces of a list one after the other, reusing its memory.
type hasher struct {
	keys, values [][]byte
	hashes       []poseidon.Digest    // value hashes, then leaf digests
	pairs        [][2]poseidon.Digest // preimages of leaf digests: path and value hash
	leaves       []*poseidon.Digest   // destinations of the leaf digests
}

func (h *hasher) hash(entries []entry, accesses []types.Access) {
	h.keys, h.values, h.pairs, h.leaves = h.keys[:0], h.values[:0], h.pairs[:0], h.leaves[:0]
	for i := range accesses {
		h.keys = append(h.keys, accesses[i].Key)
		for v := range 2 {
			if value := toHash(&accesses[i], v); len(value) > 0 {
				h.values = append(h.values, value)
			}
		}
	}
	paths := tree.Paths(h.keys)
	h.hashes = slices.Grow(h.hashes[:0], len(h.values))[:len(h.values)]
	poseidon.HashMany(poseidon.TagValue, h.hashes, h.values)
	for i := range accesses {
		entries[i].path = paths[i]
		for v := range 2 {
			if len(toHash(&accesses[i], v)) > 0 {
				h.add(&entries[i], v)
			}
		}
	}
	poseidon.Leaves(h.hashes, h.pairs)
	for i, leaf := range h.leaves {
		*leaf = h.hashes[i]
	}
	for i := range accesses {
		if e := &entries[i]; !accesses[i].Changed() {
			e.leaves[1] = e.leaves[0]
			if e.hashes != nil {
				e.hashes[1] = e.hashes[0]
			}
		}
	}
}

// add takes the next value hash, for the value before an access (version 0) or after it (version 1).
func (h *hasher) add(e *entry, version int) {
	hash := h.hashes[len(h.pairs)]
	if e.hashes != nil {
		e.hashes[version] = hash
	}
	h.pairs = append(h.pairs, [2]poseidon.Digest{e.path, hash})
	h.leaves = append(h.leaves, &e.leaves[version])
}

// toHash returns the value of an access before it (version 0), or after it (version 1) if it differs; empty for
// absence.
func toHash(a *types.Access, version int) []byte {
	switch {
	case version == 0:
		return a.Old
	case a.Changed():
		return a.New
	}
	return nil
}

// comparePaths compares paths by their bits: −1, 0 or 1.
func comparePaths(a, b *poseidon.Digest) int { return slices.Compare(a[:], b[:]) }

// bit returns bit i of a path, from the most significant bit of the first element on.
func bit(path *poseidon.Digest, i int) int {
	return int(path[i/elementBits]>>(elementBits-1-i%elementBits)) & 1
}

// prefix returns path with zeros in the bits from level on.
func prefix(path *poseidon.Digest, level int) (p poseidon.Digest) {
	full := level / elementBits
	copy(p[:full], path[:full])
	if rest := level % elementBits; rest > 0 {
		p[full] = path[full] &^ (1<<(elementBits-rest) - 1)
	}
	return p
}

// step returns the path whose only 1 is the bit at level, which is below pathBits.
func step(level int) (p poseidon.Digest) {
	p[level/elementBits] = 1 << (elementBits - 1 - level%elementBits)
	return p
}
