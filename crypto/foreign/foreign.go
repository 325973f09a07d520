// Package foreign implements the hashes and signatures of other chains that contracts can use. Accounts, transactions
// and blocks use none of them.
package foreign

import (
	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/zeebo/blake3"
	"golang.org/x/crypto/sha3"
)

// Keccak256 returns the Keccak hash with 256 bits and the padding 01 of the competition's submission, as used by
// Ethereum. SHA3-256 has a different padding.
func Keccak256(b []byte) (digest [32]byte) {
	h := sha3.NewLegacyKeccak256()
	h.Write(b)
	h.Sum(digest[:0])
	return digest
}

// Blake3 returns the unkeyed BLAKE3 hash with an output of 32 bytes.
func Blake3(b []byte) [32]byte { return blake3.Sum256(b) }

// RecoverECDSA returns x ‖ y of the secp256k1 key that signed hash. sig is r ‖ s ‖ v: r is the nonce point's x, v, 0 or
// 1, is the parity of its y, and s is at most n/2 (BIP-62). It returns false if there is no such key.
func RecoverECDSA(hash [32]byte, sig [65]byte) (key [64]byte, ok bool) {
	const headerOfUncompressed = 27
	var s btcec.ModNScalar
	overflow := s.SetByteSlice(sig[32:64])
	if sig[64] > 1 || overflow || s.IsOverHalfOrder() {
		return key, false
	}
	compact := make([]byte, 65)
	compact[0] = headerOfUncompressed + sig[64]
	copy(compact[1:], sig[:64])
	public, _, err := ecdsa.RecoverCompact(compact, hash[:])
	if err != nil {
		return key, false
	}
	copy(key[:], public.SerializeUncompressed()[1:])
	return key, true
}
