// Package bip340 verifies Schnorr signatures over secp256k1 (BIP-340), one by one and in batches, and has what goes
// with them: tagged hashes, x-only public keys and taproot output keys (BIP-341). It knows no secrets, and whoever only
// verifies imports it without what signs (package crypto).
//
// Public keys are 32-byte x-only keys, signatures are 64 bytes R.x ‖ s, both big-endian as BIP-340 writes them.
//
// Curve arithmetic runs on gnark-crypto, which is fast and has multi-exponentiation. None of it takes constant time.
package bip340
