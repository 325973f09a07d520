package p256

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"testing"
)

var (
	curve = elliptic.P256().Params()
	one   = big.NewInt(1)
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pair returns the two numbers in 32 bytes each.
func pair(a, b *big.Int) (out [64]byte) {
	a.FillBytes(out[:32])
	b.FillBytes(out[32:])
	return out
}

// naive is the equation of FIPS 186-5, 6.4.2, with the affine formulas of the curve written out.
func naive(point, signature [64]byte, digest [32]byte) bool {
	p, n := curve.P, curve.N
	x, y := new(big.Int).SetBytes(point[:32]), new(big.Int).SetBytes(point[32:])
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	if x.Cmp(p) >= 0 || y.Cmp(p) >= 0 || r.Sign() == 0 || r.Cmp(n) >= 0 || s.Sign() == 0 || s.Cmp(n) >= 0 {
		return false
	}
	left := new(big.Int).Mul(y, y)
	right := new(big.Int).Mul(x, x)
	right.Sub(right, big.NewInt(3)).Mul(right, x).Add(right, curve.B)
	if left.Sub(left, right).Mod(left, p).Sign() != 0 {
		return false
	}
	w := new(big.Int).ModInverse(s, n)
	u1 := new(big.Int).Mul(new(big.Int).SetBytes(digest[:]), w)
	u2 := new(big.Int).Mul(r, w)
	sum := add(times(u1.Mod(u1, n), &affine{curve.Gx, curve.Gy}), times(u2.Mod(u2, n), &affine{x, y}))
	return sum != nil && new(big.Int).Mod(sum.x, n).Cmp(r) == 0
}

// affine is a point of the curve; nil is the point at infinity.
type affine struct{ x, y *big.Int }

func add(a, b *affine) *affine {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	p := curve.P
	slope := new(big.Int)
	if a.x.Cmp(b.x) != 0 {
		slope.Sub(b.x, a.x).Mod(slope, p).ModInverse(slope, p)
		slope.Mul(slope, new(big.Int).Sub(b.y, a.y))
	} else {
		if new(big.Int).Mod(new(big.Int).Add(a.y, b.y), p).Sign() == 0 {
			return nil
		}
		slope.Lsh(a.y, 1).ModInverse(slope, p)
		tangent := new(big.Int).Mul(a.x, a.x)
		slope.Mul(slope, tangent.Mul(tangent, big.NewInt(3)).Sub(tangent, big.NewInt(3)))
	}
	x := new(big.Int).Mul(slope, slope)
	x.Sub(x, a.x).Sub(x, b.x).Mod(x, p)
	y := new(big.Int).Sub(a.x, x)
	y.Mul(y, slope).Sub(y, a.y).Mod(y, p)
	return &affine{x, y}
}

func times(k *big.Int, a *affine) (sum *affine) {
	for i := k.BitLen() - 1; i >= 0; i-- {
		sum = add(sum, sum)
		if k.Bit(i) == 1 {
			sum = add(sum, a)
		}
	}
	return sum
}

// check compares both functions with the naive equation.
func check(t *testing.T, name string, point, signature [64]byte, digest [32]byte) {
	t.Helper()
	want := naive(point, signature, digest)
	if got := VerifyAny(point, signature, digest); got != want {
		t.Errorf("%s: VerifyAny %v, the equation %v", name, got, want)
	}
	half := new(big.Int).Rsh(curve.N, 1)
	low := want && new(big.Int).SetBytes(signature[32:]).Cmp(half) <= 0
	if got := Verify(point, signature, digest); got != low {
		t.Errorf("%s: Verify %v, want %v", name, got, low)
	}
}

// TestRFC6979 checks the signatures of RFC 6979, A.2.5, with SHA-256.
func TestRFC6979(t *testing.T) {
	point := [64]byte(unhex(t, "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"+
		"7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"))
	for _, c := range []struct {
		message, signature string
		low                bool
	}{
		{"sample", "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716" +
			"f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8", false},
		{"test", "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367" +
			"019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083", true},
	} {
		signature := [64]byte(unhex(t, c.signature))
		digest := sha256.Sum256([]byte(c.message))
		if !VerifyAny(point, signature, digest) || !naive(point, signature, digest) {
			t.Errorf("%s does not hold", c.message)
		}
		if Verify(point, signature, digest) != c.low || isLow(signature) != c.low {
			t.Errorf("%s: want low s %v", c.message, c.low)
		}
		lowered := Lower(signature)
		if !Verify(point, lowered, digest) || c.low && lowered != signature {
			t.Errorf("%s does not hold with the lower s", c.message)
		}
		for i := range signature {
			bad := signature
			bad[i] ^= 1
			check(t, c.message+" with a changed signature", point, bad, digest)
		}
		for i := range point {
			bad := point
			bad[i] ^= 1
			if VerifyAny(bad, signature, digest) {
				t.Errorf("%s holds with byte %d of the point changed", c.message, i)
			}
		}
	}
}

// TestBounds checks each number at and beyond the ends of its range.
func TestBounds(t *testing.T) {
	digest := sha256.Sum256([]byte("bounds"))
	point := pair(curve.Gx, curve.Gy)
	half := new(big.Int).Rsh(curve.N, 1)
	values := []*big.Int{new(big.Int), one, half, new(big.Int).Add(half, one), new(big.Int).Sub(curve.N, one),
		curve.N, new(big.Int).Add(curve.N, one), curve.P, new(big.Int).Sub(new(big.Int).Lsh(one, 256), one), curve.Gx}
	for _, r := range values {
		for _, s := range values {
			check(t, "r "+r.Text(16)+", s "+s.Text(16), point, pair(r, s), digest)
		}
	}
	for _, x := range append(values, curve.Gx) {
		for _, y := range append(values, curve.Gy) {
			check(t, "x "+x.Text(16)+", y "+y.Text(16), pair(x, y), pair(curve.Gx, one), digest)
		}
	}
	// A high s that is out of range must not become a valid one.
	if out := pair(one, curve.N); Lower(out) != out {
		t.Error("Lower changes s = n")
	}
}

// TestEdges makes signatures that hold by construction: with the nonce k and the key d, s = (e + r·d) / k. They have the
// smallest and largest nonces, keys, digests and s, at which arithmetic errs.
func TestEdges(t *testing.T) {
	n := curve.N
	last := new(big.Int).Sub(n, one)
	half := new(big.Int).Rsh(n, 1)
	numbers := []*big.Int{one, big.NewInt(2), big.NewInt(3), half, new(big.Int).Add(half, one), last}
	digests := [][32]byte{{}, {31: 1}, [32]byte(n.Bytes()), [32]byte(last.Bytes()), sha256.Sum256(nil)}
	all := [32]byte{}
	for i := range all {
		all[i] = 0xff
	}
	held := 0
	for _, d := range numbers {
		key := times(d, &affine{curve.Gx, curve.Gy})
		for _, k := range numbers {
			for _, digest := range append(digests, all) {
				r := new(big.Int).Mod(times(k, &affine{curve.Gx, curve.Gy}).x, n)
				s := new(big.Int).Mul(r, d)
				s.Add(s, new(big.Int).SetBytes(digest[:])).Mul(s, new(big.Int).ModInverse(k, n)).Mod(s, n)
				point, signature := pair(key.x, key.y), pair(r, s)
				check(t, "a signature by construction", point, signature, digest)
				check(t, "the other s", point, pair(r, new(big.Int).Sub(n, s)), digest)
				if Verify(point, Lower(signature), digest) {
					held++
				}
			}
		}
	}
	if held != len(numbers)*len(numbers)*6 {
		t.Errorf("%d of %d hold", held, len(numbers)*len(numbers)*6)
	}
}

// TestRandom compares signatures of the standard library, and the same with parts exchanged, with the equation.
func TestRandom(t *testing.T) {
	for range 20 {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		public, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		point := [64]byte(public[1:])
		digest := [32]byte(public[:32])
		r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		check(t, "a signature", point, pair(r, s), digest)
		check(t, "r and s exchanged", point, pair(s, r), digest)
		check(t, "another digest", point, pair(r, s), sha256.Sum256(digest[:]))
		if !Verify(point, Lower(pair(r, s)), digest) {
			t.Error("a signature with the lower s does not hold")
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	digest := sha256.Sum256(nil)
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		b.Fatal(err)
	}
	point, signature := [64]byte(public[1:]), Lower(pair(r, s))
	for b.Loop() {
		if !Verify(point, signature, digest) {
			b.Fatal("does not hold")
		}
	}
}
