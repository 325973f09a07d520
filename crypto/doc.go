// Package crypto holds the private keys of accounts and signs with them (BIP-340). Package wallet derives keys from a
// mnemonic; package crypto/bip340 verifies, which needs no secret.
//
// Arithmetic on secrets uses btcec, whose scalars take constant time; verification uses gnark-crypto. So every
// signature is made by one implementation and checked by another before it leaves the package.
package crypto
