// Package bip340 verifies Schnorr signatures over secp256k1 (BIP-340), individually and in batches, and provides tagged
// hashes, x-only public keys and taproot output keys (BIP-341). It handles no secrets: code that only verifies can
// import it without importing the code that signs (package crypto).
//
// Public keys are 32-byte x-only keys; signatures are 64 bytes R.x ‖ s, both big-endian as in BIP-340.
//
// Curve arithmetic uses gnark-crypto, which is fast and has multi-exponentiation. It does not take constant time.
package bip340
