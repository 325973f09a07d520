// Package crypto holds the primitives of accounts and transactions: tagged hashes and Schnorr
// signatures over secp256k1 (BIP-340), one by one and in batches, taproot output keys (BIP-341),
// and bech32m addresses (BIP-350). Keys from a mnemonic are package wallet's.
//
// Public keys are 32-byte x-only keys, signatures are 64 bytes R.x ‖ s, both big-endian as BIP-340
// writes them.
//
// Curve arithmetic on public data runs on gnark-crypto, which is fast and has multi-exponentiation;
// arithmetic on secrets runs on btcec, whose scalars take constant time. So every signature is made
// by one implementation and checked by another before it leaves the package.
package crypto
