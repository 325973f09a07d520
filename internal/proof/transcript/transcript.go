// Package transcript makes an interactive argument non-interactive (Fiat and Shamir, CRYPTO 1986). Prover and verifier
// feed the same messages to a SHA-256 chain and draw the verifier's challenges from it.
//
// The state is 32 bytes S, initially SHA-256(domain). Let H be SHA-256, LE64 eight bytes little-endian, and the tags 1
// to 4 four bytes little-endian:
//
//	absorb m      S ← H(S ‖ 1 ‖ LE64(len m) ‖ m)
//	draw 32 bytes B = H(S ‖ 2), then S ← H(S ‖ 3)
//	seal          the nonce x is good for k bits if the low k bits of LE64(H(S ‖ 4 ‖ LE64(x))) are zero
package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/sha"
)

// Tags that follow the state in the four uses of the hash.
const (
	tagAbsorb uint32 = iota + 1
	tagDraw
	tagRatchet
	tagSeal
)

// Transcript is the state after the messages and draws so far. Copies are independent.
type Transcript struct {
	state [sha256.Size]byte
}

// New returns the transcript of a protocol. domain is the protocol's name.
func New(domain string) *Transcript {
	return &Transcript{sha256.Sum256([]byte(domain))}
}

// Absorb absorbs one message. The boundaries of messages are part of the hash.
func (t *Transcript) Absorb(message []byte) {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(t.tagged(tagAbsorb), uint64(len(message))))
	h.Write(message)
	h.Sum(t.state[:0])
}

// AbsorbExt absorbs one message: the concatenated encodings of v.
func (t *Transcript) AbsorbExt(v []field.Ext) {
	message := make([]byte, 0, field.ExtSize*len(v))
	for i := range v {
		message = field.AppendExt(message, &v[i])
	}
	t.Absorb(message)
}

// block draws 32 bytes.
func (t *Transcript) block() [sha256.Size]byte {
	out := sha256.Sum256(t.tagged(tagDraw))
	t.state = sha256.Sum256(t.tagged(tagRatchet))
	return out
}

// tagged returns the state followed by a tag.
func (t *Transcript) tagged(tag uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(make([]byte, 0, sha256.Size+12), t.state[:]...), tag)
}

// Ext draws an element of E: its coordinates are the first six 64-bit words of two blocks, modulo p. The probability of
// any value exceeds 1/p by at most the factor 1 + 2^−33.
func (t *Transcript) Ext() field.Ext {
	first, second := t.block(), t.block()
	words := append(first[:], second[:]...)
	var c [field.Degree]field.Element
	for i := range c {
		c[i] = field.New(binary.LittleEndian.Uint64(words[8*i:]))
	}
	return field.FromCoordinates(c)
}

// Index draws a uniform number below 2^log: the low bits of a block's first 64-bit word. log must be below 63.
func (t *Transcript) Index(log int) int {
	b := t.block()
	return int(binary.LittleEndian.Uint64(b[:]) & (1<<log - 1))
}

// Sealed reports whether nonce is good for the given bits of work. If so, it absorbs the nonce.
func (t *Transcript) Sealed(nonce uint64, bits int) bool {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(t.tagged(tagSeal), nonce))
	if !good(&sum, bits) {
		return false
	}
	t.Absorb(binary.LittleEndian.AppendUint64(nil, nonce))
	return true
}

func good(sum *[sha256.Size]byte, bits int) bool {
	return binary.LittleEndian.Uint64(sum[:])&(1<<bits-1) == 0
}

// sealChunk is the number of nonces that one call tries; sealCalls is the number of calls in a batch that Seal waits
// for.
const (
	sealChunk = 1 << 12
	sealCalls = 1 << 6
)

// Seal finds the least nonce that is good for the given bits of work, at most 32, which takes about 2^bits hashes, and
// absorbs it. parallel runs f(i) for each i below n in any order.
func (t *Transcript) Seal(bits int, parallel func(n int, f func(i int))) uint64 {
	prefix := [sha.SearchPrefix]byte(t.tagged(tagSeal))
	for base := uint64(0); ; base += sealCalls * sealChunk {
		var least atomic.Uint64 // the least found so far; chunks beyond it are not searched
		least.Store(math.MaxUint64)
		parallel(sealCalls, func(i int) {
			first := base + uint64(i)*sealChunk
			if first > least.Load() {
				return
			}
			nonce, found := sha.Search(&prefix, first, sealChunk, bits)
			for old := least.Load(); found && nonce < old; old = least.Load() {
				found = !least.CompareAndSwap(old, nonce)
			}
		})
		if nonce := least.Load(); nonce != math.MaxUint64 {
			t.Sealed(nonce, bits)
			return nonce
		}
	}
}
