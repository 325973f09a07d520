// Package sha hashes many messages of equal length with SHA-256 (FIPS 180-4), sixteen in parallel if the processor has
// AVX-512. For many short messages this is several times as fast as hashing sequentially with the SHA instructions.
package sha

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// lanes is the number of messages that the vector kernel hashes at once.
const lanes = 16

// Hash sets dst[i] to the hash of message i, which is words[k·len(dst) + i] for k = 0, 1, …, each four bytes
// little-endian. All messages have len(words)/len(dst) words.
func Hash(dst [][sha256.Size]byte, words []uint32) {
	done := 0
	if vector && len(dst) >= lanes {
		count := len(dst)
		length := len(words) / count
		whole := length / blockWords * blockWords
		e := newEnding(length)
		for ; done+lanes <= count; done += lanes {
			state := initialLanes
			if whole > 0 {
				compress(&state, &words[done], uintptr(4*count), uintptr(whole/blockWords))
			}
			for k := whole; k < length; k++ {
				copy(e.words[k-whole][:], words[k*count+done:])
			}
			compress(&state, &e.words[0][0], 4*lanes, e.blocks)
			storeLanes(&dst[done], &state)
		}
	}
	for i := done; i < len(dst); i++ {
		dst[i] = hashOne(words, i, len(dst))
	}
}

// HashRows sets dst[i] to the hash of tag followed by the canonical integers of element first + i of each column, all
// as four bytes little-endian.
func HashRows(dst [][sha256.Size]byte, tag uint32, columns []field.Vector, first int) {
	done := 0
	if vector && len(dst) >= lanes {
		length := 1 + len(columns)
		whole := length / blockWords * blockWords
		e := newEnding(length)
		if whole == 0 {
			for i := range lanes {
				e.words[0][i] = tag
			}
		}
		for ; done+lanes <= len(dst); done += lanes {
			state, at := initialLanes, first+done
			if whole > 0 {
				compressColumns(&state, tag, &columns[0], uintptr(at), uintptr(whole/blockWords))
			}
			for k := max(1, whole); k < length; k++ {
				field.Canonical(e.words[k-whole][:], columns[k-1][at:at+lanes])
			}
			compress(&state, &e.words[0][0], 4*lanes, e.blocks)
			storeLanes(&dst[done], &state)
		}
	}
	message := make([]byte, 0, 4*(1+len(columns)))
	for ; done < len(dst); done++ {
		message = binary.LittleEndian.AppendUint32(message[:0], tag)
		for k := range columns {
			message = field.Append(message, &columns[k][first+done])
		}
		dst[done] = sha256.Sum256(message)
	}
}

// HashPairs sets dst[i] to the hash of tag, four bytes little-endian, digests[2i] and digests[2i+1].
func HashPairs(dst [][sha256.Size]byte, tag uint32, digests [][sha256.Size]byte) {
	done := 0
	if vector && len(dst) >= lanes {
		e := ending{blocks: 2} // a pair and its padding are two blocks
		e.pad(pairWords, 2*blockWords, 32*pairWords)
		for i := range e.words[0] {
			e.words[0][i] = tag
		}
		for ; done+lanes <= len(dst); done += lanes {
			loadPairs((*[2 * digestWords][lanes]uint32)(e.words[1:]), &digests[2*done])
			state := initialLanes
			compress(&state, &e.words[0][0], 4*lanes, e.blocks)
			storeLanes(&dst[done], &state)
		}
	}
	var message [4 * pairWords]byte
	binary.LittleEndian.PutUint32(message[:], tag)
	for ; done < len(dst); done++ {
		copy(message[4:], digests[2*done][:])
		copy(message[4+sha256.Size:], digests[2*done+1][:])
		dst[done] = sha256.Sum256(message[:])
	}
}

// SearchPrefix is the length in bytes of the prefix before the number that Search varies.
const SearchPrefix = 36

// Search returns the least of count numbers from first on whose hash begins with the given number of zero bits, at most
// 32. It hashes prefix followed by the number as eight bytes little-endian. Bits are counted from each byte's least
// significant bit. first and count must be multiples of 16.
func Search(prefix *[SearchPrefix]byte, first uint64, count, zeros int) (least uint64, found bool) {
	mask := uint32(1<<zeros - 1)
	if !vector {
		message := append(append(make([]byte, 0, SearchPrefix+8), prefix[:]...), make([]byte, 8)...)
		for n := first; n < first+uint64(count); n++ {
			binary.LittleEndian.PutUint64(message[SearchPrefix:], n)
			if sum := sha256.Sum256(message); binary.LittleEndian.Uint32(sum[:])&mask == 0 {
				return n, true
			}
		}
		return 0, false
	}
	b := newSearchBlock(prefix)
	for n := first; n < first+uint64(count); n += lanes {
		b.words[searchWord], b.words[searchWord+1] = uint32(n), swap(uint32(n>>32))
		// States have big-endian words.
		if hits := search(&b, swap(mask)); hits != 0 {
			return n + uint64(bits.TrailingZeros32(hits)), true
		}
	}
	return 0, false
}

// searchWord is the word of the message that differs between lanes, the low half of the number.
const searchWord = SearchPrefix / 4

// searchBlock is the block of sixteen messages that differ in one word.
type searchBlock struct {
	state [8]uint32          // working variables after the rounds of the words before it, equal for all
	words [blockWords]uint32 // big-endian, but word searchWord is the number of the first message
}

func newSearchBlock(prefix *[SearchPrefix]byte) (b searchBlock) {
	b.words[searchWord+2] = swap(0x80)
	b.words[blockWords-1] = 8 * (SearchPrefix + 8)
	b.state = initial
	for i, k := range firstConstants {
		b.words[i] = binary.BigEndian.Uint32(prefix[4*i:])
		s := &b.state
		rotated := func(w uint32, x, y, z int) uint32 {
			return bits.RotateLeft32(w, -x) ^ bits.RotateLeft32(w, -y) ^ bits.RotateLeft32(w, -z)
		}
		t := s[7] + rotated(s[4], 6, 11, 25) + (s[4]&s[5] ^ ^s[4]&s[6]) + k + b.words[i]
		u := rotated(s[0], 2, 13, 22) + (s[0]&s[1] ^ s[0]&s[2] ^ s[1]&s[2])
		*s = [8]uint32{t + u, s[0], s[1], s[2], s[3] + t, s[4], s[5], s[6]}
	}
	return b
}

// firstConstants are those of the first rounds: the first 32 bits of the fractional parts of the cube roots of the first
// primes.
var firstConstants = [searchWord]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
}

// hashOne hashes message i of count.
func hashOne(words []uint32, i, count int) [sha256.Size]byte {
	var buffer [256]byte
	message := buffer[:0]
	for ; i < len(words); i += count {
		message = binary.LittleEndian.AppendUint32(message, words[i])
	}
	return sha256.Sum256(message)
}

const (
	blockWords  = 16
	digestWords = sha256.Size / 4
	pairWords   = 1 + 2*digestWords // words that HashPairs hashes
)

// initial is the state before the first block: the first 32 bits of the fractional parts of the square roots of the
// first eight primes.
var initial = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

// initialLanes is initial in all lanes.
var initialLanes = func() (state [8][lanes]uint32) {
	for k := range state {
		for i := range state[k] {
			state[k][i] = initial[k]
		}
	}
	return state
}()

// ending holds the last blocks of sixteen messages: the rest of each message after whole blocks, and the padding.
type ending struct {
	words  [2 * blockWords][lanes]uint32
	blocks uintptr
}

// newEnding returns the ending of messages of length words. The caller must fill in the rest of the messages.
func newEnding(length int) (e ending) {
	rest := length % blockWords
	e.blocks = 1
	if rest > blockWords-3 { // the end mark and the 64-bit length
		e.blocks = 2
	}
	e.pad(rest, int(e.blocks)*blockWords, uint64(length)*32)
	return e
}

// pad writes the end mark after rest words, and the length in bits before end.
func (e *ending) pad(rest, end int, bits uint64) {
	for i := range lanes {
		e.words[rest][i] = 0x80
		e.words[end-2][i] = swap(uint32(bits >> 32))
		e.words[end-1][i] = swap(uint32(bits))
	}
}

// swap reverses the bytes of w: words in this package are little-endian, those in SHA-256 big-endian.
func swap(w uint32) uint32 { return w>>24 | w>>8&0xff00 | w<<8&0xff0000 | w<<24 }
