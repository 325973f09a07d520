package bip340

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

const (
	// maxBatch bounds the signatures of one multi-exponentiation. More would gain little, and from 2,048 on
	// gnark-crypto chooses windows that it spreads over several threads.
	maxBatch = 1024
	// minBatch is the number of signatures from which a multi-exponentiation is cheaper than checking each by itself.
	minBatch = 6
	// minBisect is the number of signatures from which a range known to be bad is halved. Below it, checking each by
	// itself finds one bad signature nearly as fast, and many far faster.
	minBisect = 33
)

// SignedMessage is a 32-byte message with its signature by PublicKey (x-only).
type SignedMessage struct {
	PublicKey [32]byte
	Message   [32]byte
	Signature [64]byte
}

// VerifyBatch reports for each item whether its signature is valid, exactly as [Verify] does, but several times as
// fast. It keeps one core busy: callers with more cores should split their items, with some hundred per call.
//
// It is BIP-340 batch verification with a multi-exponentiation. With vector lanes ([Lanes]), signatures of one key
// share its point. A batch that fails is then decided item by item, eight at a time, which costs up to six times as
// much as the batch did.
//
// Without lanes, a batch that fails is bisected. One bad signature adds about the cost of the batch if it has 512
// items, and twice that if it has 64. A batch of only bad signatures costs about twice as much as Verify for each.
func VerifyBatch(items []SignedMessage) []bool {
	size, verify := maxBatch, verifyChunk
	if Lanes() {
		size, verify = maxTogether, verifyChunkInLanes
	}
	valid := make([]bool, 0, len(items))
	for chunk := range slices.Chunk(items, size) {
		valid = append(valid, verify(chunk)...)
	}
	return valid
}

func verifyChunk(items []SignedMessage) []bool {
	valid := make([]bool, len(items))
	b := newBatch(items)
	n := len(b.signatures)
	if n < minBatch {
		b.verifyEach(valid, 0, n)
		return valid
	}
	sum := b.sum(0, n)
	b.settle(valid, 0, n, &sum)
	return valid
}

// batch holds the decoded signatures of a chunk. Signature i is valid if and only if its defect D_i = R_i + e_i·P_i −
// s_i·G is zero. A range of signatures passes if Σ a_i·D_i is zero.
//
// This is sound: The coefficients a_i are 128-bit outputs of SHA-256 keyed with a hash of all keys, messages and
// signatures, so an attacker chooses the signatures before the coefficients. Consider a range with some D_i ≠ 0. The
// group has prime order above 2^255. So if all other coefficients are fixed, at most one of the 2^128 values of a_i
// makes the sum zero. The first coefficient is always 1: if only the first defect is not zero, neither is the sum; if
// another defect is not zero either, the argument holds for its coefficient. So a range with a bad signature passes
// with probability at most 2^-128. Bisection tests subranges with the same coefficients: these are the ranges of one
// binary tree, fixed before the coefficients are known, fewer than 2·maxBatch = 2^11. So any false accept has
// probability below 2^-117 for each batch that an attacker forms and hashes. A valid range always passes: its sum is
// zero for any coefficients.
//
// As the coefficients are kept, the sums of two halves add up to the sum of the whole, so only one half needs to be
// computed.
type batch struct {
	signatures []decodedSignature
	// points and scalars hold R_i, P_i and a_i, a_i·e_i at 2i and 2i+1.
	points  []secp256k1.G1Affine
	scalars []fr.Element
}

type decodedSignature struct {
	item        int // index in the chunk
	e, s        fr.Element
	coefficient fr.Element
}

// newBatch decodes the items. It omits items that cannot be decoded: those with a key or an R that is not on the curve,
// or an s that is not below the group order.
func newBatch(items []SignedMessage) *batch {
	b := &batch{
		signatures: make([]decodedSignature, 0, len(items)),
		points:     make([]secp256k1.G1Affine, 0, 2*len(items)),
		scalars:    make([]fr.Element, 0, 2*len(items)),
	}
	seed := batchSeed(items)
	for i := range items {
		item := &items[i]
		d := decodedSignature{item: i}
		var r, p secp256k1.G1Affine
		if d.s.SetBytesCanonical(item.Signature[32:]) != nil ||
			!liftX(&r, item.Signature[:32]) || !liftX(&p, item.PublicKey[:]) {
			continue
		}
		d.e = challenge(item.PublicKey, item.Message[:], item.Signature)
		d.coefficient = coefficient(seed, i)
		var ae fr.Element
		ae.Mul(&d.coefficient, &d.e)
		b.signatures = append(b.signatures, d)
		b.points = append(b.points, r, p)
		b.scalars = append(b.scalars, d.coefficient, ae)
	}
	return b
}

// settle sets valid for the signatures in [from, to). sum is the sum of their defects.
func (b *batch) settle(valid []bool, from, to int, sum *secp256k1.G1Jac) {
	switch {
	case sum.Z.IsZero():
		for _, d := range b.signatures[from:to] {
			valid[d.item] = true
		}
	case to-from < minBisect:
		b.verifyEach(valid, from, to)
	default:
		middle := from + (to-from)/2
		left := b.sum(from, middle)
		right := *sum
		right.SubAssign(&left)
		b.settle(valid, from, middle, &left)
		b.settle(valid, middle, to, &right)
	}
}

// verifyEach sets valid for the signatures in [from, to) by checking s·G − e·P = R for each.
func (b *batch) verifyEach(valid []bool, from, to int) {
	for i := from; i < to; i++ {
		d := &b.signatures[i]
		var r secp256k1.G1Jac
		r.FromAffine(&b.points[2*i])
		got := signatureNonce(&b.points[2*i+1], &d.s, &d.e)
		valid[d.item] = got.Equal(&r)
	}
}

// sum returns Σ a_i·D_i over [from, to): one multi-exponentiation of the R_i, the P_i and G.
func (b *batch) sum(from, to int) secp256k1.G1Jac {
	var s fr.Element
	for i := from; i < to; i++ {
		d := &b.signatures[i]
		var as fr.Element
		s.Sub(&s, as.Mul(&d.coefficient, &d.s))
	}
	// The full slice expressions make append copy rather than overwrite the elements after the range.
	points := append(b.points[2*from:2*to:2*to], generator)
	scalars := append(b.scalars[2*from:2*to:2*to], s)
	var sum secp256k1.G1Jac
	if _, err := sum.MultiExp(points, scalars, ecc.MultiExpConfig{NbTasks: 1}); err != nil {
		panic("bip340: " + err.Error()) // impossible: as many scalars as points, and one task
	}
	return sum
}

// batchSeed returns the hash of all items, from which the coefficients are derived.
func batchSeed(items []SignedMessage) (seed [32]byte) {
	h := sha256.New()
	for i := range items {
		h.Write(items[i].PublicKey[:])
		h.Write(items[i].Message[:])
		h.Write(items[i].Signature[:])
	}
	h.Sum(seed[:0])
	return seed
}

// coefficient returns a_i: 1 for item 0, otherwise the first 128 bits of SHA256(seed ‖ i), with i as 8 bytes
// little-endian.
func coefficient(seed [32]byte, i int) (a fr.Element) {
	if i == 0 {
		a.SetOne()
		return a
	}
	digest := derive(seed, i)
	a.SetBytes(digest[:16])
	return a
}

// derive returns SHA256(seed ‖ i), with i as 8 bytes little-endian.
func derive(seed [32]byte, i int) [32]byte {
	var b [len(seed) + 8]byte
	copy(b[:], seed[:])
	binary.LittleEndian.PutUint64(b[len(seed):], uint64(i))
	return sha256.Sum256(b[:])
}
