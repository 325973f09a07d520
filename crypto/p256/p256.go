// Package p256 verifies ECDSA signatures over P-256 (FIPS 186-5), the curve of passkeys, WebCrypto, key management
// services and secure elements. It handles no secrets.
//
// A point is x ‖ y and a signature r ‖ s, each 32 bytes, big-endian.
package p256

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"math/big"
)

// halfOrder is ⌊n / 2⌋, with n the order of the group.
var halfOrder = new(big.Int).Rsh(elliptic.P256().Params().N, 1).FillBytes(make([]byte, 32))

// Verify reports whether signature is a valid signature of digest by point, with s at most ⌊n / 2⌋. Of a signature
// with s and one with n − s, which are both valid in FIPS 186-5, it so accepts only one.
func Verify(point, signature [64]byte, digest [32]byte) bool {
	return isLow(signature) && VerifyAny(point, signature, digest)
}

// VerifyAny is [Verify] with any s from 1 to n − 1.
func VerifyAny(point, signature [64]byte, digest [32]byte) bool {
	// The parser refuses coordinates that are not below the field's prime, and points that are not on the curve.
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, point[:]...))
	if err != nil {
		return false
	}
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	return ecdsa.Verify(key, digest[:], r, s) // refuses r and s of 0, of n and above
}

// isLow reports whether s of the signature is at most ⌊n / 2⌋.
func isLow(signature [64]byte) bool { return bytes.Compare(signature[32:], halfOrder) <= 0 }

// Lower returns the signature with the lower one of s and n − s. A signature whose s is n or more, which is not valid,
// comes back as it is.
func Lower(signature [64]byte) [64]byte {
	n := elliptic.P256().Params().N
	s := new(big.Int).SetBytes(signature[32:])
	if !isLow(signature) && s.Cmp(n) < 0 {
		s.Sub(n, s).FillBytes(signature[32:])
	}
	return signature
}
