package testkit

import (
	stdcrypto "crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"math/big"
	"testing"
)

// naiveECDSA is a signature over secp256k1 with the lower s.
func naiveECDSA(secret, digest [32]byte) (r, s [32]byte) {
	nonce := sha256.Sum256(digest[:])
	k := number(nonce[:])
	x := new(big.Int).Mod(curveG.times(k).x, curveOrder)
	sum := new(big.Int).Mul(x, number(secret[:]))
	sum.Add(sum, number(digest[:])).Mul(sum, new(big.Int).ModInverse(k, curveOrder)).Mod(sum, curveOrder)
	if half := new(big.Int).Rsh(curveOrder, 1); sum.Cmp(half) > 0 {
		sum.Sub(curveOrder, sum)
	}
	return bytes32(x), bytes32(sum)
}

// deviceSignature signs over P-256 with a key that is the hash of a word.
func deviceSignature(t *testing.T, message string) (point [64]byte, digest [32]byte, signature [64]byte) {
	t.Helper()
	secret := sha256.Sum256([]byte("device"))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	digest = sha256.Sum256([]byte(message))
	der, err := key.Sign(nil, digest[:], stdcrypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var parts struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &parts); err != nil {
		t.Fatal(err)
	}
	parts.R.FillBytes(signature[:32])
	parts.S.FillBytes(signature[32:])
	return [64]byte(public[1:]), digest, signature
}

// negateP256 replaces a number s by the order minus s.
func negateP256(s []byte) {
	new(big.Int).Sub(elliptic.P256().Params().N, number(s)).FillBytes(s)
}
