package crypto

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

var (
	errKeyRange  = errors.New("crypto: private key is zero or not below the group order")
	errTweak     = errors.New("crypto: taproot tweak gives no key")
	errSignature = errors.New("crypto: the signature just made does not verify")
)

// PrivateKey is a secp256k1 signing key. It prints as "[private key]" in any format, and encodes to nothing. Create one
// with [NewPrivateKey] or [GenerateKey], or derive one with package wallet: the zero value is not a key, and its
// methods panic.
//
// Computations with the secret use btcec. Its scalar arithmetic takes constant time, and its multiplication of the base
// point makes the same 32 table look-ups and additions for any scalar (gnark-crypto branches on the scalar's digits).
// However, the look-ups access memory that depends on the secret, and the point additions are not written to be
// constant-time: a process that shares the machine's caches may learn something. Memory is not wiped after use.
type PrivateKey struct {
	// A closure keeps the secret from fmt when it does not call Format but prints by reflection, as it does for
	// unexported fields; it would follow a pointer.
	secret func() *secretKey
}

type secretKey struct {
	bytes  [32]byte         // as given
	scalar btcec.ModNScalar // d of BIP-340: bytes or its negation, whichever has a point with even y
	public [32]byte         // x of that point
}

// NewPrivateKey returns the key with the big-endian scalar b. It returns an error if b is 0 or not below the group
// order.
func NewPrivateKey(b [32]byte) (PrivateKey, error) {
	var d btcec.ModNScalar
	if overflow := d.SetBytes(&b); overflow != 0 || d.IsZero() {
		return PrivateKey{}, errKeyRange
	}
	x, odd := baseMultiply(&d)
	if odd {
		d.Negate()
	}
	secret := &secretKey{bytes: b, scalar: d, public: x}
	return PrivateKey{func() *secretKey { return secret }}, nil
}

// GenerateKey returns a new key from 32 bytes of rand, normally crypto/rand.Reader. It returns an error if they are out
// of range, which happens with probability 2^-127.
func GenerateKey(rand io.Reader) (PrivateKey, error) {
	var b [32]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return PrivateKey{}, fmt.Errorf("crypto: generate key: %w", err)
	}
	return NewPrivateKey(b)
}

// Format implements [fmt.Formatter]: every verb prints "[private key]".
func (k PrivateKey) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "[private key]") // fmt.State keeps write errors itself
}

// Bytes returns the secret scalar as it was passed to NewPrivateKey. It must only be stored encrypted.
func (k PrivateKey) Bytes() [32]byte { return k.secret().bytes }

// PublicKey returns the x-only public key.
func (k PrivateKey) PublicKey() [32]byte { return k.secret().public }

// baseMultiply returns the x coordinate of k·G and whether y is odd; k is not zero.
func baseMultiply(k *btcec.ModNScalar) (x [32]byte, odd bool) {
	var point btcec.JacobianPoint
	btcec.ScalarBaseMultNonConst(k, &point)
	point.ToAffine()
	return *point.X.Bytes(), point.Y.IsOdd()
}

var (
	tagAux       = bip340.NewTag("BIP0340/aux")
	tagNonce     = bip340.NewTag("BIP0340/nonce")
	tagChallenge = bip340.NewTag("BIP0340/challenge")
	tagTapTweak  = bip340.NewTag("TapTweak")
)

// Sign returns the BIP-340 signature ("Default Signing") of msg, of any length. aux should be 32 fresh random bytes; a
// fixed value is safe too, but protects less against fault and side-channel attacks. The signature is verified before
// it is returned.
func (k PrivateKey) Sign(msg []byte, aux [32]byte) ([64]byte, error) {
	sig, err := k.sign(msg, aux)
	if err == nil && !bip340.Verify(k.PublicKey(), msg, sig) {
		return [64]byte{}, errSignature
	}
	return sig, err
}

// SignAll signs several messages as [PrivateKey.Sign] does and verifies the signatures together. It is about three
// times as fast for eight or more messages.
func (k PrivateKey) SignAll(messages [][32]byte, aux [32]byte) ([][64]byte, error) {
	signatures := make([][64]byte, len(messages))
	items := make([]bip340.SignedMessage, len(messages))
	for i, message := range messages {
		sig, err := k.sign(message[:], aux)
		if err != nil {
			return nil, err
		}
		signatures[i] = sig
		items[i] = bip340.SignedMessage{PublicKey: k.PublicKey(), Message: message, Signature: sig}
	}
	if slices.Contains(bip340.VerifyBatch(items), false) {
		return nil, errSignature
	}
	return signatures, nil
}

// sign is [PrivateKey.Sign] without the verification.
func (k PrivateKey) sign(msg []byte, aux [32]byte) ([64]byte, error) {
	secret := k.secret()
	public := secret.public
	masked := secret.scalar.Bytes()
	for i, b := range tagAux.Hash(aux[:]) {
		masked[i] ^= b
	}
	nonceHash := tagNonce.Hash(masked[:], public[:], msg)

	var nonce btcec.ModNScalar
	nonce.SetBytes(&nonceHash)
	if nonce.IsZero() { // probability 2^-256
		return [64]byte{}, errors.New("crypto: the nonce is zero")
	}
	r, odd := baseMultiply(&nonce)
	if odd {
		nonce.Negate()
	}
	challenge := tagChallenge.Hash(r[:], public[:], msg)
	var s btcec.ModNScalar
	s.SetBytes(&challenge)
	s.Mul(&secret.scalar).Add(&nonce)

	var sig [64]byte
	copy(sig[:32], r[:])
	s.PutBytesUnchecked(sig[32:])
	return sig, nil
}

// TapTweak returns the key that spends the taproot output of this internal key by the key path, without a script tree:
// d + int(tagged("TapTweak", P)), taproot_tweak_seckey of BIP-341. Its public key is [bip340.TapTweakPublicKey] of k's
// public key.
func (k PrivateKey) TapTweak() (PrivateKey, error) {
	secret := k.secret()
	hash := tagTapTweak.Hash(secret.public[:])
	var tweak btcec.ModNScalar
	if overflow := tweak.SetBytes(&hash); overflow != 0 {
		return PrivateKey{}, errTweak
	}
	tweak.Add(&secret.scalar)
	if tweak.IsZero() {
		return PrivateKey{}, errTweak
	}
	return NewPrivateKey(tweak.Bytes())
}
