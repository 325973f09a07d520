package bip340

import (
	"errors"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

var (
	errNotOnCurve = errors.New("bip340: public key is not the x coordinate of a point on the curve")
	errTweak      = errors.New("bip340: taproot tweak gives no key")
)

var (
	tagChallenge = NewTag("BIP0340/challenge")
	tagTapTweak  = NewTag("TapTweak")
)

// curveB is the constant of the curve y² = x³ + 7 (SEC 2).
var curveB = fp.NewElement(7)

var _, generator = secp256k1.Generators()

// liftX sets p to the point with x coordinate x and even y (lift_x of BIP-340), and reports whether there is one. x is
// big-endian and must be below the field's modulus.
func liftX(p *secp256k1.G1Affine, x []byte) bool {
	if p.X.SetBytesCanonical(x) != nil {
		return false
	}
	p.Y.Square(&p.X).Mul(&p.Y, &p.X).Add(&p.Y, &curveB)
	if p.Y.Sqrt(&p.Y) == nil {
		return false
	}
	if isOdd(&p.Y) {
		p.Y.Neg(&p.Y)
	}
	return true
}

// isOdd reports whether the least non-negative representative of y is odd.
func isOdd(y *fp.Element) bool { return y.Bits()[0]&1 == 1 }

// IsXOnly reports whether x is an x-only public key: the x coordinate of a point on the curve.
func IsXOnly(x [32]byte) bool {
	var p secp256k1.G1Affine
	return liftX(&p, x[:])
}

// TapTweakPublicKey returns the taproot output key of an internal key without a script tree (BIP-341): x of
// lift_x(internal) + int(tagged("TapTweak", internal))·G.
func TapTweakPublicKey(internal [32]byte) ([32]byte, error) {
	var p secp256k1.G1Affine
	if !liftX(&p, internal[:]) {
		return [32]byte{}, errNotOnCurve
	}
	hash := tagTapTweak.Hash(internal[:])
	var tweak fr.Element
	if tweak.SetBytesCanonical(hash[:]) != nil {
		return [32]byte{}, errTweak
	}
	var t big.Int
	var q secp256k1.G1Jac
	q.ScalarMultiplicationBase(tweak.BigInt(&t)).AddMixed(&p)
	if q.Z.IsZero() {
		return [32]byte{}, errTweak
	}
	return p.FromJacobian(&q).X.Bytes(), nil
}

// Verify reports whether sig is a valid BIP-340 signature of msg, of any length, by the x-only key pub.
func Verify(pub [32]byte, msg []byte, sig [64]byte) bool {
	if Lanes() {
		return verifyLane(pub, msg, sig)
	}
	return verifyScalar(pub, msg, sig)
}

// verifyScalar is Verify in portable code. It also settles the cases that the lanes leave open.
func verifyScalar(pub [32]byte, msg []byte, sig [64]byte) bool {
	var p secp256k1.G1Affine
	var r fp.Element
	var s fr.Element
	if r.SetBytesCanonical(sig[:32]) != nil || s.SetBytesCanonical(sig[32:]) != nil || !liftX(&p, pub[:]) {
		return false
	}
	e := challenge(pub, msg, sig)
	point := signatureNonce(&p, &s, &e)
	if point.Z.IsZero() {
		return false
	}
	p.FromJacobian(&point)
	return p.X.Equal(&r) && !isOdd(&p.Y)
}

// challenge returns e = int(tagged("BIP0340/challenge", R.x ‖ P ‖ msg)) mod n.
func challenge(pub [32]byte, msg []byte, sig [64]byte) (e fr.Element) {
	hash := tagChallenge.Hash(sig[:32], pub[:], msg)
	e.SetBytes(hash[:])
	return e
}

// signatureNonce returns s·G − e·P, which equals R for a valid signature.
func signatureNonce(p *secp256k1.G1Affine, s, e *fr.Element) (r secp256k1.G1Jac) {
	var minusE fr.Element
	var sInt, eInt big.Int
	minusE.Neg(e)
	r.JointScalarMultiplicationBase(p, s.BigInt(&sInt), minusE.BigInt(&eInt))
	return r
}
