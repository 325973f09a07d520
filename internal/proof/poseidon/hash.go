package poseidon

import "encoding/binary"

// lanes is the number of states that are hashed side by side.
const lanes = 32

// block is the input of the kernels: states side by side, with elements below P. Some kernels process one half after
// the other.
type (
	block [lanes][width]uint32
	half  [lanes / 2][width]uint32
)

// Permute applies the permutation to a state, whose elements must be below P.
func Permute(s *[16]uint32) { permuteScalar(s) }

// Nodes sets dst[i] = permute(L ‖ R)[0..8) + L for each src[i] = {L, R}: a 2-to-1 compression with the left half fed
// forward. dst and src must have the same length.
func Nodes(dst []Digest, src [][2]Digest) {
	dst = dst[:len(src)]
	var b block
	for len(src) > 0 {
		n := min(len(src), lanes)
		for i := range n {
			*(*Digest)(b[i][:rate]) = src[i][0]
			*(*Digest)(b[i][rate:]) = src[i][1]
		}
		permuteLanes(&b, n)
		for i := range n {
			addRate(&b[i], &src[i][0])
			dst[i] = Digest(b[i][:rate])
		}
		dst, src = dst[n:], src[n:]
	}
}

// Leaves sets dst[i] = S(TagLeaf, 16, path ‖ valueHash) for each src[i] = {path, valueHash}: two blocks of the sponge,
// the second with the value's hash. dst and src must have the same length.
func Leaves(dst []Digest, src [][2]Digest) {
	dst = dst[:len(src)]
	var b block
	for len(src) > 0 {
		n := min(len(src), lanes)
		for i := range n {
			b[i] = initialState(TagLeaf, 2*rate)
			addRate(&b[i], &src[i][0])
		}
		permuteLanes(&b, n)
		for i := range n {
			addRate(&b[i], &src[i][1])
		}
		permuteLanes(&b, n)
		for i := range n {
			dst[i] = Digest(b[i][:rate])
		}
		dst, src = dst[n:], src[n:]
	}
}

// HashMany sets dst[i] = S(tag, len(msgs[i]), pack(msgs[i])) for each message. pack makes an element of every 3 bytes,
// little-endian, with the last group padded with zeros. dst and msgs must have the same length, tag must be below P,
// and a message shorter than P bytes (2 GiB).
//
// Messages of any lengths are hashed side by side: a lane that finishes one takes the next.
func HashMany(tag uint32, dst []Digest, msgs [][]byte) {
	sponge(tag, dst, func(i int) (uint32, []byte) { return uint32(len(msgs[i])), msgs[i] }, packBlock)
}

// Message is the input of [Sponge]: the elements, each below P, and the number n that goes into the capacity.
type Message struct {
	N        uint32
	Elements []uint32
}

// Sponge sets dst[i] = S(tag, n, elements) for each message. dst and msgs must have the same length, and tag and N must
// be below P. As in [HashMany], messages of any lengths are hashed side by side.
func Sponge(tag uint32, dst []Digest, msgs []Message) {
	sponge(tag, dst, func(i int) (uint32, []uint32) { return msgs[i].N, msgs[i].Elements }, elementBlock)
}

// Pair appends an element for every 2 bytes of b, big-endian. b must have an even length.
func Pair(elements []uint32, b []byte) []uint32 {
	for i := 0; i < len(b); i += 2 {
		elements = append(elements, uint32(b[i])<<8|uint32(b[i+1]))
	}
	return elements
}

// sponge hashes the messages that begin returns for 0 … len(dst)−1. next returns the first block of a message, and the
// rest of it; a message has at least one block.
func sponge[T any](
	tag uint32, dst []Digest, begin func(i int) (n uint32, msg []T), next func(msg []T) (Digest, []T),
) {
	var (
		b     block
		rest  [lanes][]T // elements that a lane has still to absorb
		owner [lanes]int // index of a lane's message
		n     int        // number of lanes in use, which are the first ones
		begun int        // number of messages that got a lane
	)
	for {
		for ; n < lanes && begun < len(dst); n, begun = n+1, begun+1 {
			length, msg := begin(begun)
			b[n] = initialState(tag, length)
			rest[n], owner[n] = msg, begun
		}
		if n == 0 {
			return
		}
		for i := range n {
			var e Digest
			e, rest[i] = next(rest[i])
			addRate(&b[i], &e)
		}
		permuteLanes(&b, n)
		// Backwards, so that the lane that fills a gap has been checked already.
		for i := n - 1; i >= 0; i-- {
			if len(rest[i]) == 0 {
				dst[owner[i]] = Digest(b[i][:rate])
				n--
				b[i], rest[i], owner[i] = b[n], rest[n], owner[n]
			}
		}
	}
}

// Hash is [HashMany] for one message.
func Hash(tag uint32, msg []byte) Digest {
	s := initialState(tag, uint32(len(msg)))
	for {
		var e Digest
		e, msg = packBlock(msg)
		addRate(&s, &e)
		permuteScalar(&s)
		if len(msg) == 0 {
			return Digest(s[:rate])
		}
	}
}

// initialState returns the sponge's state before its first block, with tag and length in the capacity.
func initialState(tag, length uint32) (s [width]uint32) {
	s[rate], s[rate+1] = tag, length
	return s
}

// packBlock packs up to 24 bytes of msg, padded with zeros, into 8 elements, and returns the rest.
func packBlock(msg []byte) (Digest, []byte) {
	var group [3 * rate]byte
	n := copy(group[:], msg)
	w0 := binary.LittleEndian.Uint64(group[0:])
	w1 := binary.LittleEndian.Uint64(group[8:])
	w2 := binary.LittleEndian.Uint64(group[16:])
	const mask = 1<<24 - 1
	return Digest{
		uint32(w0 & mask), uint32(w0 >> 24 & mask), uint32((w0>>48 | w1<<16) & mask), uint32(w1 >> 8 & mask),
		uint32(w1 >> 32 & mask), uint32((w1>>56 | w2<<8) & mask), uint32(w2 >> 16 & mask), uint32(w2 >> 40),
	}, msg[n:]
}

// elementBlock returns up to 8 elements of msg, padded with zeros, and the rest.
func elementBlock(msg []uint32) (Digest, []uint32) {
	var e Digest
	n := copy(e[:], msg)
	return e, msg[n:]
}

// addRate adds e to the first 8 elements of s.
func addRate(s *[width]uint32, e *Digest) {
	for i, v := range e {
		v += s[i]
		s[i] = min(v, v-P) // v < 2P < 2^32: if v < P, the subtraction wraps to something greater
	}
}
