// Package lanes decides eight equations R = s·G − e·P on secp256k1 at once (the check of eight BIP-340 signatures), one
// in each 64-bit lane of AVX-512 registers. Each is decided by itself and exactly: there are no random coefficients. A
// lane that meets a case which the addition formulas do not cover says so, and is left to the caller.
//
// Nothing here is secret, and nothing takes constant time.
//
// The method: e is split by the curve's endomorphism (Gallant, Lambert, Vanstone, CRYPTO 2001) into two halves of 128
// bits, which share 128 doublings and take 4 bits at a time from a table of 1…8 times P. That table is not made
// affine but brought to one Z, as affine points of an isomorphic curve; the doubling and addition formulas do not see
// the curve's constant. s takes 8 bits at a time from a fixed table of multiples of G and needs no doublings.
package lanes

//go:generate go run ./internal/gen
