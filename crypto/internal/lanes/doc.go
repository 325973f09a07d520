// Package lanes decides equations R = s·G − e·P on secp256k1 (the check of BIP-340 signatures) in the 64-bit lanes of
// AVX-512 registers, in one of two ways. [Decide] decides eight at once, each by itself and exactly. A lane that meets
// a case which the addition formulas do not cover says so, and is left to the caller. [AllHold] tells of any number
// whether all hold, by a random combination of them: several times as fast, and nothing is known when it says no.
//
// Nothing here is secret, and nothing takes constant time.
//
// The method of Decide: the curve's endomorphism splits e into two halves of 128 bits (Gallant, Lambert, Vanstone,
// CRYPTO 2001). They share 128 doublings and take 4 bits at a time from a table of 1…8 times P. That table is not made
// affine but brought to one Z, as affine points of an isomorphic curve; the doubling and addition formulas do not see
// the curve's constant. s takes 8 bits at a time from a fixed table of multiples of G and needs no doublings. That of
// AllHold is with its type sum.
package lanes

//go:generate go run ./internal/gen
