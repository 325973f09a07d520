package testkit

import (
	"encoding/binary"
	"slices"
)

// The hash function, the state's tree and a block's lists literally as docs/protocol.md defines them: slow, and without
// code of packages poseidon, tree and lists.

const koalaBear = 1<<31 - 1<<24 + 1

// naiveConstants yields the 448 round constants by the Grain LFSR of the Poseidon paper's appendix E.
func naiveConstants() (constants [448]uint32) {
	var state []byte
	for _, field := range []struct{ value, bits int }{
		{1, 2}, {0, 4}, {31, 12}, {16, 12}, {8, 10}, {20, 10}, {1<<30 - 1, 30},
	} {
		for i := field.bits - 1; i >= 0; i-- {
			state = append(state, byte(field.value>>i&1))
		}
	}
	step := func() byte {
		b := state[62] ^ state[51] ^ state[38] ^ state[23] ^ state[13] ^ state[0]
		state = append(state[1:], b)
		return b
	}
	for range 160 {
		step()
	}
	element := func() (v uint32) {
		for range 31 {
			for step() == 0 {
				step()
			}
			v = v<<1 | uint32(step())
		}
		return v
	}
	for i := range constants {
		v := element()
		for v >= koalaBear {
			v = element()
		}
		constants[i] = v
	}
	return constants
}

var (
	roundConstants = naiveConstants()
	firstRow       = [16]uint64{1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3}
)

func naivePermute(state [16]uint32) [16]uint32 {
	for round := range 28 {
		for i := range state {
			x := (uint64(state[i]) + uint64(roundConstants[16*round+i])) % koalaBear
			if i == 0 || round < 4 || round >= 24 {
				x = x * x % koalaBear * x % koalaBear
			}
			state[i] = uint32(x)
		}
		var next [16]uint32
		for i := range next {
			var sum uint64
			for j := range state {
				sum += firstRow[(16+j-i)%16] * uint64(state[j])
			}
			next[i] = uint32(sum % koalaBear)
		}
		state = next
	}
	return state
}

// naiveDigest is 8 field elements.
type naiveDigest [8]uint32

func (d naiveDigest) bytes() (b [32]byte) {
	for i, e := range d {
		binary.BigEndian.PutUint32(b[4*i:], e)
	}
	return b
}

func naiveSponge(tag, length uint32, elements []uint32) naiveDigest {
	var state [16]uint32
	state[8], state[9] = tag, length
	for {
		block := elements[:min(8, len(elements))]
		for i, e := range block {
			state[i] = uint32((uint64(state[i]) + uint64(e)) % koalaBear)
		}
		state = naivePermute(state)
		if elements = elements[len(block):]; len(elements) == 0 {
			return naiveDigest(state[:8])
		}
	}
}

func naiveHash(tag uint32, message []byte) naiveDigest {
	var elements []uint32
	for group := range slices.Chunk(message, 3) {
		var padded [4]byte
		copy(padded[:], group)
		elements = append(elements, binary.LittleEndian.Uint32(padded[:]))
	}
	return naiveSponge(tag, uint32(len(message)), elements)
}

func naivePair(message []byte) (elements []uint32) {
	for group := range slices.Chunk(message, 2) {
		elements = append(elements, uint32(binary.BigEndian.Uint16(group)))
	}
	return elements
}

func naiveParse(b []byte) (d naiveDigest) {
	for i := range d {
		d[i] = binary.BigEndian.Uint32(b[4*i:])
	}
	return d
}

// naiveListRoot is the root of a block's list: tag 5 for transactions, 7 for receipts.
func naiveListRoot(tag uint32, leaves []naiveDigest) [32]byte {
	level, size := leaves, 1
	for size < len(leaves) {
		size *= 2
	}
	level = append(slices.Clone(level), make([]naiveDigest, size-len(leaves))...)
	for len(level) > 1 {
		var above []naiveDigest
		for pair := range slices.Chunk(level, 2) {
			above = append(above, naiveNode(pair[0], pair[1]))
		}
		level = above
	}
	return naiveSponge(tag, uint32(len(leaves)), level[0][:]).bytes()
}

func naivePath(key []byte) naiveDigest        { return naiveHash(1, key) }
func naiveValueHash(value []byte) naiveDigest { return naiveHash(2, value) }

func naiveLeaf(path, valueHash naiveDigest) naiveDigest {
	return naiveSponge(3, 16, append(path[:], valueHash[:]...))
}

func naiveNode(left, right naiveDigest) (parent naiveDigest) {
	state := naivePermute([16]uint32(append(left[:], right[:]...)))
	for i := range parent {
		parent[i] = uint32((uint64(state[i]) + uint64(left[i])) % koalaBear)
	}
	return parent
}

func pathBit(path naiveDigest, depth int) int { return int(path[depth/31] >> (30 - depth%31) & 1) }

// leafEntry is a key's leaf in the tree.
type leafEntry struct{ path, valueHash naiveDigest }

func entriesOf(state map[string][]byte) (entries []leafEntry) {
	for key, value := range state {
		entries = append(entries, leafEntry{naivePath([]byte(key)), naiveValueHash(value)})
	}
	return entries
}

func divide(entries []leafEntry, depth int) (sides [2][]leafEntry) {
	for _, e := range entries {
		b := pathBit(e.path, depth)
		sides[b] = append(sides[b], e)
	}
	return sides
}

func naiveRoot(entries []leafEntry, depth int) naiveDigest {
	switch len(entries) {
	case 0:
		return naiveDigest{}
	case 1:
		return naiveLeaf(entries[0].path, entries[0].valueHash)
	}
	sides := divide(entries, depth)
	return naiveNode(naiveRoot(sides[0], depth+1), naiveRoot(sides[1], depth+1))
}

func stateRoot(state map[string][]byte) [32]byte { return naiveRoot(entriesOf(state), 0).bytes() }

// naiveProof is a Merkle proof: the siblings from the root's child downwards, and the entry at which the path ends, or
// nil if there is none.
type naiveProof struct {
	siblings []naiveDigest
	end      *leafEntry
}

func naiveProve(state map[string][]byte, key []byte) (proof naiveProof) {
	path, entries := naivePath(key), entriesOf(state)
	for depth := 0; len(entries) > 1; depth++ {
		sides := divide(entries, depth)
		bit := pathBit(path, depth)
		proof.siblings = append(proof.siblings, naiveRoot(sides[1-bit], depth+1))
		entries = sides[bit]
	}
	if len(entries) == 1 {
		proof.end = &entries[0]
	}
	return proof
}
