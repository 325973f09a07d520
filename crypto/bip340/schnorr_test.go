package bip340

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/cairn-chain/cairn/crypto/internal/lanes"
	"github.com/cairn-chain/cairn/internal/testkit/bip"
	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// groupOrder is n of secp256k1 (SEC 2).
const groupOrder = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"

// signWithBtcec signs a message with the second implementation. The secret must not be zero and must be below the
// order.
func signWithBtcec(t testing.TB, secret, message [32]byte) SignedMessage {
	t.Helper()
	key, public := btcec.PrivKeyFromBytes(secret[:])
	sig, err := schnorr.Sign(key, message[:], schnorr.CustomNonce([32]byte{}), schnorr.FastSign())
	if err != nil {
		t.Fatal(err)
	}
	return SignedMessage{[32]byte(schnorr.SerializePubKey(public)), message, [64]byte(sig.Serialize())}
}

// verifyWithBtcec is Verify by the second implementation.
func verifyWithBtcec(pub, message [32]byte, sig [64]byte) bool {
	key, err := schnorr.ParsePubKey(pub[:])
	if err != nil {
		return false
	}
	signature, err := schnorr.ParseSignature(sig[:])
	return err == nil && signature.Verify(message[:], key)
}

// notOnCurve returns an x coordinate that no point of the curve has.
func notOnCurve(t testing.TB) [32]byte {
	t.Helper()
	for i := byte(0); i < 100; i++ {
		if x := TaggedHash("x", []byte{i}); !IsXOnly(x) {
			return x
		}
	}
	t.Fatal("every x is on the curve")
	return [32]byte{}
}

func TestVerifyVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyVectors)
}

func testVerifyVectors(t *testing.T) {
	for _, v := range bip.Signatures(t) {
		if got := Verify(v.Public, v.Message, v.Signature); got != v.Valid {
			t.Errorf("vector %s (%s): got %v, want %v", v.Index, v.Comment, got, v.Valid)
		}
	}
}

// TestVerifyRefusesEveryChange flips each bit of a valid triple, one at a time.
func TestVerifyRefusesEveryChange(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyRefusesEveryChange)
}

func testVerifyRefusesEveryChange(t *testing.T) {
	item := signWithBtcec(t, TaggedHash("key"), TaggedHash("message"))
	public, message, sig := item.PublicKey, item.Message, item.Signature
	valid := bytes.Join([][]byte{public[:], message[:], sig[:]}, nil)
	for bit := 0; bit < 8*len(valid); bit++ {
		changed := bytes.Clone(valid)
		changed[bit/8] ^= 1 << (bit % 8)
		if Verify([32]byte(changed[:32]), changed[32:64], [64]byte(changed[64:])) {
			t.Errorf("bit %d changed, and the signature is valid", bit)
		}
	}
	if Verify(public, append(message[:], 0), sig) || Verify(public, message[:31], sig) {
		t.Error("a longer or shorter message has the same signature")
	}
}

func TestIsXOnly(t *testing.T) {
	field := [32]byte(fp.Modulus().Bytes())
	generatorX := generator.X.Bytes()
	beyond := new(big.Int).Add(fp.Modulus(), big.NewInt(1)) // 1 is on the curve; p + 1 is an invalid encoding of it
	for _, c := range []struct {
		name string
		x    [32]byte
		want bool
	}{
		{"G", generatorX, true},
		{"1", [32]byte{31: 1}, true},
		{"0: 7 is not a square", [32]byte{}, false},
		{"5", [32]byte{31: 5}, false},
		{"p", field, false},
		{"p + 1", [32]byte(beyond.Bytes()), false},
	} {
		if got := IsXOnly(c.x); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if _, err := TapTweakPublicKey(c.x); (err == nil) != c.want {
			t.Errorf("TapTweakPublicKey of %s: error %v", c.name, err)
		}
	}
}

// TestSignatureNonceAtTheEdges compares s·G − e·P with (s − e·k)·G for P = k·G with scalars near 0
// and near the order, where the tables of the joint multiplication meet infinity and doublings.
func TestSignatureNonceAtTheEdges(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	var scalars []fr.Element
	for i := int64(-4); i <= 4; i++ {
		var x fr.Element
		scalars = append(scalars, *x.SetInt64(i))
	}
	for _, k := range scalars {
		if k.IsZero() {
			continue
		}
		var p secp256k1.G1Affine
		p.ScalarMultiplicationBase(k.BigInt(new(big.Int)))
		for _, s := range scalars {
			for _, e := range scalars {
				var scalar fr.Element
				scalar.Sub(&s, scalar.Mul(&e, &k))
				var want secp256k1.G1Jac
				want.ScalarMultiplicationBase(scalar.BigInt(new(big.Int)))
				if got := signatureNonce(&p, &s, &e); !got.Equal(&want) {
					t.Errorf("k = %s, s = %s, e = %s", k.String(), s.String(), e.String())
				}
			}
		}
	}
}

// FuzzVerify compares Verify and VerifyBatch with btcec, on a signature made with secret whose key, message and
// signature are changed by mask, or on mask itself if secret is not a key.
func FuzzVerify(f *testing.F) {
	for _, v := range bip.Signatures(f) {
		if len(v.Message) == 32 {
			f.Add([]byte{}, v.Message, bytes.Join([][]byte{v.Public[:], v.Message, v.Signature[:]}, nil))
		}
	}
	f.Add([]byte{1}, []byte("message"), []byte{})
	f.Add([]byte{2}, []byte("message"), append(make([]byte, 127), 1))
	all := signedMessages(f, minTogether-1)
	f.Fuzz(func(t *testing.T, secret, seed, mask []byte) {
		var triple, change [128]byte
		copy(change[:], mask)
		var scalar [32]byte
		copy(scalar[:], secret)
		var d btcec.ModNScalar
		if overflow := d.SetBytes(&scalar); overflow == 0 && !d.IsZero() {
			signed := signWithBtcec(t, scalar, TaggedHash("message", seed))
			copy(triple[:], signed.PublicKey[:])
			copy(triple[32:], signed.Message[:])
			copy(triple[64:], signed.Signature[:])
		}
		for i := range triple {
			triple[i] ^= change[i]
		}
		item := SignedMessage{[32]byte(triple[:32]), [32]byte(triple[32:64]), [64]byte(triple[64:])}
		want := verifyWithBtcec(item.PublicKey, item.Message, item.Signature)
		defer useLanes(t, Lanes())
		for _, on := range verifiers() {
			useLanes(t, on)
			if got := Verify(item.PublicKey, item.Message[:], item.Signature); got != want {
				t.Fatalf("Verify (lanes %v) says %v, btcec %v for %x", on, got, want, triple)
			}
			others := all[:minBatch-1] // the fewest that make a sum, in portable code or, now and then, in lanes
			if on {
				others = all[:lanes.Count-1]
				if len(seed)%8 == 0 {
					others = all
				}
			}
			for i, got := range VerifyBatch(append(others[:len(others):len(others)], item)) {
				if i < len(others) && !got || i == len(others) && got != want {
					t.Fatalf("VerifyBatch (lanes %v) says %v of %d, btcec of the last %v for %x",
						on, got, i, want, triple)
				}
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	item := signedMessages(b, 1)[0]
	b.ReportAllocs()
	for b.Loop() {
		if !Verify(item.PublicKey, item.Message[:], item.Signature) {
			b.Fatal("invalid")
		}
	}
}
