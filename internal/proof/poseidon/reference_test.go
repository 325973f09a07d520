package poseidon

import "math/big"

// referencePermute is the permutation as the paper writes it, slow and plain.
func referencePermute(s [width]uint32) [width]uint32 {
	var x [width]uint64
	for i := range x {
		x[i] = uint64(s[i])
	}
	for r, constants := range RoundConstants {
		for i, c := range constants {
			x[i] = (x[i] + uint64(c)) % P
		}
		for i := range x {
			if i == 0 || r < 4 || r >= 24 {
				x[i] = x[i] * x[i] % P * x[i] % P
			}
		}
		var y [width]uint64
		for i := range y {
			for j := range x {
				y[i] = (y[i] + uint64(MatrixRow[(j-i+width)%width])*x[j]) % P
			}
		}
		x = y
	}
	for i := range x {
		s[i] = uint32(x[i])
	}
	return s
}

// referenceSponge is S(tag, length, elements).
func referenceSponge(tag, length uint32, elements []uint32) Digest {
	s := [width]uint32{8: tag, 9: length}
	for first := true; first || len(elements) > 0; first = false {
		n := min(len(elements), 8)
		for i, e := range elements[:n] {
			s[i] = uint32((uint64(s[i]) + uint64(e)) % P)
		}
		s, elements = referencePermute(s), elements[n:]
	}
	return Digest(s[:8])
}

// referenceHash is S(tag, len(msg), pack(msg)), with the packing done in big integers.
func referenceHash(tag uint32, msg []byte) Digest {
	var elements []uint32
	for rest := msg; len(rest) > 0; rest = rest[min(3, len(rest)):] {
		var littleEndian big.Int
		for i, b := range rest[:min(3, len(rest))] {
			littleEndian.Add(&littleEndian, new(big.Int).Lsh(big.NewInt(int64(b)), uint(8*i)))
		}
		elements = append(elements, uint32(littleEndian.Uint64()))
	}
	return referenceSponge(tag, uint32(len(msg)), elements)
}

func referenceLeaf(path, valueHash Digest) Digest {
	return referenceSponge(3, 16, append(path[:], valueHash[:]...))
}

func referenceNode(left, right Digest) Digest {
	s := referencePermute([width]uint32(append(left[:], right[:]...)))
	for i := range left {
		left[i] = uint32((uint64(left[i]) + uint64(s[i])) % P)
	}
	return left
}
