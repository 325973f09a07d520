package bip340

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/cairn-chain/cairn/crypto/internal/lanes"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// lanesOff is set by UseLanes.
var lanesOff bool

// Lanes reports whether signatures are verified in AVX-512 lanes. By default they are if the processor supports it and
// a self-test passes.
func Lanes() bool { return !lanesOff && lanesWork() }

// UseLanes selects whether signatures are verified in AVX-512 lanes or by the portable code, which accepts exactly the
// same signatures. It must not be called while another goroutine verifies. It returns an error, and changes nothing, if
// lanes are requested but not available.
func UseLanes(on bool) error {
	if on && !lanesWork() {
		return errors.New("bip340: this processor or build does not verify in lanes")
	}
	lanesOff = !on
	return nil
}

// lanesWork reports whether lanes are available and decide a known signature correctly, in each lane and in a sum. The
// signature is vector 1 of BIP-340, used unmodified in one half of the lanes and with another message in the other
// half.
var lanesWork = sync.OnceValue(func() bool {
	if !lanes.Available() {
		return false
	}
	known := func(s string) []byte {
		b, _ := hex.DecodeString(s) // a wrong constant would fail the test below
		return b
	}
	pub := [32]byte(known("dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659"))
	msg := known("243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89")
	sig := [64]byte(known("6896bd60eeae296db48a229ff71dfe071bde413e6d43f917dc8dcf8c78de3341" +
		"8906d11ac976abccb20b091292bff4ea897efcb639ea871cfa95f6de339e4b0a"))
	for _, want := range []uint8{0x55, 0xaa} {
		var equations [lanes.Count]lanes.Equation
		for i := range equations {
			message := msg
			if want>>i&1 == 0 {
				message = pub[:]
			}
			if !setEquation(&equations[i], pub, message, sig) {
				return false
			}
		}
		if lanes.Decide(&equations) != (lanes.Verdict{Holds: want}) {
			return false
		}
	}
	items := []SignedMessage{{pub, [32]byte(msg), sig}, {pub, [32]byte(msg), sig}}
	if !allValid(items) {
		return false
	}
	items[1].Message = pub
	return !allValid(items)
})

// setEquation sets q to the equation that a signature claims. It returns false if s is not below the group order.
func setEquation(q *lanes.Equation, pub [32]byte, msg []byte, sig [64]byte) bool {
	var s fr.Element
	if s.SetBytesCanonical(sig[32:]) != nil {
		return false
	}
	*q = lanes.Equation{P: pub, R: [32]byte(sig[:32]), S: s, E: challenge(pub, msg, sig)}
	return true
}

const (
	// minTogether is the number of signatures from which one sum is cheaper than deciding eight at a time.
	minTogether = 2*lanes.Count + 1
	// maxTogether bounds the signatures of one sum. The fixed cost of a sum is then 1 % of the total.
	maxTogether = 8192
)

// verifyChunkInLanes verifies a chunk for [VerifyBatch].
func verifyChunkInLanes(items []SignedMessage) []bool {
	valid := make([]bool, len(items))
	if len(items) >= minTogether && allValid(items) {
		for i := range valid {
			valid[i] = true
		}
		return valid
	}
	for from := 0; from < len(items); from += lanes.Count {
		to := min(from+lanes.Count, len(items))
		verifyLanes(valid[from:to], items[from:to])
	}
	return valid
}

// allValid reports whether all signatures are valid, by one sum. If one is not valid, it wrongly returns true with
// probability at most 2^-128 for each batch that an attacker forms and hashes: the coefficients are a hash of all items
// ([lanes.Coefficient]). It may return false even if all are valid.
func allValid(items []SignedMessage) bool {
	equations := make([]lanes.Equation, len(items))
	coefficients := make([]lanes.Coefficient, len(items))
	seed := batchSeed(items)
	for i := range items {
		if !setEquation(&equations[i], items[i].PublicKey, items[i].Message[:], items[i].Signature) {
			return false
		}
		digest := derive(seed, i)
		coefficients[i] = lanes.Coefficient{
			U: binary.LittleEndian.Uint64(digest[:]), V: binary.LittleEndian.Uint64(digest[8:]),
		}
	}
	return lanes.AllHold(equations, coefficients)
}

// verifyLanes sets valid for items, at most one per lane. Lanes without an item, or with an item whose s is too large,
// have the zero equation, which no point satisfies.
func verifyLanes(valid []bool, items []SignedMessage) {
	var equations [lanes.Count]lanes.Equation
	for i := range items {
		setEquation(&equations[i], items[i].PublicKey, items[i].Message[:], items[i].Signature)
	}
	verdict := lanes.Decide(&equations)
	for i := range items {
		valid[i] = verdict.Holds>>i&1 == 1
		if verdict.Unsettled>>i&1 == 1 {
			valid[i] = verifyScalar(items[i].PublicKey, items[i].Message[:], items[i].Signature)
		}
	}
}

// verifyLane uses one of the lanes and leaves the others empty. It is still several times faster than verifyScalar.
func verifyLane(pub [32]byte, msg []byte, sig [64]byte) bool {
	var equations [lanes.Count]lanes.Equation
	if !setEquation(&equations[0], pub, msg, sig) {
		return false
	}
	verdict := lanes.Decide(&equations)
	return verdict.Holds&1 == 1 || verdict.Unsettled&1 == 1 && verifyScalar(pub, msg, sig)
}
