package lanes

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// Count is the number of equations decided at once.
const Count = 8

// Equation is R = s·G − e·P. P and R are given by x (32 bytes big-endian) and stand for the points with even y.
type Equation struct {
	P, R [32]byte
	S, E fr.Element
}

// Verdict holds one bit for each equation, the lowest for the first. An equation that is neither in Holds nor in
// Unsettled is false; this includes the cases that P or R is not below the field's modulus or is not the x of a point.
type Verdict struct {
	Holds uint8
	// Unsettled has the equations that are not decided: a partial sum met its own next summand, its negative or zero.
	// Only someone who knows the discrete logarithm of P can cause this.
	Unsettled uint8
}

// Coefficient is the number U + V·2^64 − c, where c depends on the number of equations. No two coefficients are the same
// mod n.
type Coefficient struct{ U, V uint64 }
