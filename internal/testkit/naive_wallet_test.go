package testkit

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"math/big"
	"testing"
)

// The wallet as docs/protocol.md defines it, on big integers: slow, and without code of package crypto.

func bigHex(s string) *big.Int {
	v, ok := new(big.Int).SetString(s, 16)
	if !ok {
		panic("not hex: " + s)
	}
	return v
}

// The domain parameters of secp256k1 (SEC 2, version 2, section 2.4.1).
var (
	curveP     = bigHex("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f")
	curveOrder = bigHex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	curveG     = point{
		bigHex("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"),
		bigHex("483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"),
	}
)

// point is a point in affine coordinates; x is nil at infinity.
type point struct{ x, y *big.Int }

func (a point) plus(b point) point {
	if a.x == nil {
		return b
	}
	if b.x == nil {
		return a
	}
	slope := new(big.Int)
	if a.x.Cmp(b.x) == 0 {
		if a.y.Cmp(b.y) != 0 {
			return point{}
		}
		slope.Mul(a.x, a.x).Mul(slope, big.NewInt(3)).Mul(slope, new(big.Int).ModInverse(new(big.Int).Lsh(a.y, 1), curveP))
	} else {
		run := new(big.Int).Sub(b.x, a.x)
		slope.Sub(b.y, a.y).Mul(slope, new(big.Int).ModInverse(run.Mod(run, curveP), curveP))
	}
	x := new(big.Int).Mul(slope, slope)
	x.Sub(x, a.x).Sub(x, b.x).Mod(x, curveP)
	y := new(big.Int).Sub(a.x, x)
	y.Mul(y, slope).Sub(y, a.y).Mod(y, curveP)
	return point{x, y}
}

func (a point) times(k *big.Int) (sum point) {
	for i := k.BitLen() - 1; i >= 0; i-- {
		sum = sum.plus(sum)
		if k.Bit(i) == 1 {
			sum = sum.plus(a)
		}
	}
	return sum
}

func bytes32(v *big.Int) (b [32]byte) {
	v.FillBytes(b[:])
	return b
}

func number(b []byte) *big.Int { return new(big.Int).SetBytes(b) }

func naiveTagged(tag string, parts ...[]byte) [32]byte {
	name := sha256.Sum256([]byte(tag))
	message := append(append([]byte{}, name[:]...), name[:]...)
	for _, p := range parts {
		message = append(message, p...)
	}
	return sha256.Sum256(message)
}

// naiveSeed computes BIP-39's seed of an ASCII mnemonic without a passphrase.
func naiveSeed(t *testing.T, mnemonic string) []byte {
	t.Helper()
	seed, err := pbkdf2.Key(sha512.New, mnemonic, []byte("mnemonic"), 2048, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// extendedKey is a private key of BIP-32 and its chain code.
type extendedKey struct{ key, chainCode [32]byte }

func hmac512(key, message []byte) []byte {
	h := hmac.New(sha512.New, key)
	h.Write(message)
	return h.Sum(nil)
}

func naiveMaster(seed []byte) extendedKey {
	i := hmac512([]byte("Bitcoin seed"), seed)
	return extendedKey{[32]byte(i[:32]), [32]byte(i[32:])}
}

// child implements CKDpriv of BIP-32; hardened numbers have bit 31 set.
func (e extendedKey) child(index uint32) extendedKey {
	var data []byte
	if index>>31 == 1 {
		data = append([]byte{0}, e.key[:]...)
	} else {
		p := curveG.times(number(e.key[:]))
		x := bytes32(p.x)
		data = append([]byte{2 + byte(p.y.Bit(0))}, x[:]...)
	}
	i := hmac512(e.chainCode[:], binary.BigEndian.AppendUint32(data, index))
	k := number(i[:32])
	k.Add(k, number(e.key[:])).Mod(k, curveOrder)
	return extendedKey{bytes32(k), [32]byte(i[32:])}
}

// evenSecret returns whichever of a private key's scalar and its negation has a point with even y, and that point's x.
func evenSecret(key [32]byte) (d *big.Int, x [32]byte) {
	d = number(key[:])
	p := curveG.times(d)
	if p.y.Bit(0) == 1 {
		d.Sub(curveOrder, d)
	}
	return d, bytes32(p.x)
}

// naiveTweak implements taproot_tweak_seckey of BIP-341 without a script tree.
func naiveTweak(key [32]byte) (tweak, tweaked [32]byte) {
	d, x := evenSecret(key)
	tweak = naiveTagged("TapTweak", x[:])
	d.Add(d, number(tweak[:])).Mod(d, curveOrder)
	return tweak, bytes32(d)
}

// naiveSign implements BIP-340's default signing, with 32 zero bytes of auxiliary data.
func naiveSign(key [32]byte, message []byte) (signature [64]byte) {
	d, x := evenSecret(key)
	masked, mask := bytes32(d), naiveTagged("BIP0340/aux", make([]byte, 32))
	for i := range masked {
		masked[i] ^= mask[i]
	}
	nonce := naiveTagged("BIP0340/nonce", masked[:], x[:], message)
	k, r := evenSecret(bytes32(new(big.Int).Mod(number(nonce[:]), curveOrder)))
	challenge := naiveTagged("BIP0340/challenge", r[:], x[:], message)
	s := number(challenge[:])
	s.Mul(s, d).Add(s, k).Mod(s, curveOrder)
	copy(signature[:], r[:])
	s.FillBytes(signature[32:])
	return signature
}
