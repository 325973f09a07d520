package lanes

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// Count is the number of equations decided at once.
const Count = 8

// Equation is R = s·G − e·P, with P and R given by x (32 bytes big-endian) as the points with even y.
type Equation struct {
	P, R [32]byte
	S, E fr.Element
}

// Verdict holds one bit for each equation, the lowest for the first. What is neither Holds nor Unsettled is false: also
// where P or R is not below the field's modulus or is no point's x.
type Verdict struct {
	Holds uint8
	// Unsettled are those not decided: a partial sum met its own next summand, its negative or zero. Whoever knows
	// the discrete logarithm of P can bring that about, but nobody else.
	Unsettled uint8
}

// Coefficient is the number (U − c) + (V − c)·λ, c being 128·(256^8 − 1)/255 and λ the eigenvalue of the curve's
// endomorphism. No two coefficients are the same mod n. Their difference would be a vector of the lattice of (u, v)
// with u + v·λ = 0 mod n, shorter than its shortest one.
type Coefficient struct{ U, V uint64 }
