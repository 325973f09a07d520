// Package crypto holds the private keys of accounts and signs with them (BIP-340). Keys from a mnemonic are package
// wallet's; what verifies, and needs no secret, is package crypto/bip340.
//
// Arithmetic on secrets runs on btcec, whose scalars take constant time; verification runs on gnark-crypto. So every
// signature is made by one implementation and checked by another before it leaves the package.
package crypto
