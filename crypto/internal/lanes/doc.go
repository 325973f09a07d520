// Package lanes decides equations R = s·G − e·P on secp256k1 (the check of BIP-340 signatures) in the 64-bit lanes of
// AVX-512 registers, in one of two ways. [Decide] decides eight at once, each individually and exactly. Lanes with a
// case that the addition formulas do not cover are reported as unsettled and left to the caller. [AllHold] reports for
// any number of equations whether all hold, by a random combination of them. It is several times as fast, but false is
// inconclusive.
//
// Nothing here is secret, and nothing takes constant time.
//
// Decide uses the curve's endomorphism to split e into two halves of 128 bits (Gallant, Lambert, Vanstone, CRYPTO
// 2001). They share 128 doublings and consume 4 bits at a time from a table of 1…8 times P. That table is not made
// affine but brought to a common Z, as affine points of an isomorphic curve; the doubling and addition formulas do not
// use the curve's constant. s consumes 8 bits at a time from a fixed table of multiples of G and needs no doublings.
// The method of AllHold is described with type sum.
package lanes

//go:generate go run ./internal/gen
