package crypto

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/cairn-chain/cairn/crypto/bech32m"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/testkit/bip"
	"pgregory.net/rapid"
)

// groupOrder is n of secp256k1 (SEC 2).
const groupOrder = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"

// mustKey returns the key with scalar b.
func mustKey(t testing.TB, b [32]byte) PrivateKey {
	t.Helper()
	key, err := NewPrivateKey(b)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// edgeScalars are the scalars next to 0 and to the group order, where additions meet equal and
// opposite points.
func edgeScalars(t testing.TB) (scalars [][32]byte) {
	for i := uint32(1); i <= 20; i++ {
		var small, large btcec.ModNScalar
		small.SetInt(i)
		large.NegateVal(&small)
		scalars = append(scalars, small.Bytes(), large.Bytes())
	}
	return scalars
}

func TestNewPrivateKeyRange(t *testing.T) {
	order := bip.Unhex32(t, groupOrder)
	below, above := order, order
	below[31]--
	above[31]++
	one := [32]byte{31: 1}
	for _, c := range []struct {
		name   string
		scalar [32]byte
		ok     bool
	}{
		{"zero", [32]byte{}, false},
		{"one", one, true},
		{"order - 1", below, true},
		{"order", order, false},
		{"order + 1", above, false},
		{"2^256 - 1", [32]byte(bytes.Repeat([]byte{0xff}, 32)), false},
	} {
		key, err := NewPrivateKey(c.scalar)
		if (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.name, err)
		}
		if c.ok && key.Bytes() != c.scalar {
			t.Errorf("%s: Bytes gives %x", c.name, key.Bytes())
		}
	}
}

func TestPublicKeyMatchesBtcec(t *testing.T) {
	check := func(t testing.TB, scalar [32]byte) {
		_, want := btcec.PrivKeyFromBytes(scalar[:])
		if got := mustKey(t, scalar).PublicKey(); !bytes.Equal(got[:], schnorr.SerializePubKey(want)) {
			t.Errorf("public key of %x is %x", scalar, got)
		}
	}
	for _, scalar := range edgeScalars(t) {
		check(t, scalar)
	}
	for i := byte(1); i < 50; i++ {
		check(t, bip340.TaggedHash("key", []byte{i}))
	}
}

func TestGenerateKey(t *testing.T) {
	want := bytes.Repeat([]byte{7}, 32)
	if key, err := GenerateKey(bytes.NewReader(want)); err != nil || key.Bytes() != [32]byte(want) {
		t.Errorf("key %x, error %v", key.Bytes(), err)
	}
	if _, err := GenerateKey(bytes.NewReader(want[:31])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a reader of 31 bytes gives error %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if _, err := GenerateKey(bytes.NewReader(make([]byte, 32))); !errors.Is(err, errKeyRange) {
		t.Errorf("a reader of zeros gives error %v, want %v", err, errKeyRange)
	}
}

func TestPrivateKeyIsNotPrinted(t *testing.T) {
	key := mustKey(t, bip340.TaggedHash("secret"))
	b := key.Bytes()
	traces := []string{
		hex.EncodeToString(b[:]),
		strings.Trim(fmt.Sprint(b), "[]"),
		strings.Trim(fmt.Sprint(key.secret().scalar), "{}[]"),
	}
	wrapped := struct {
		hidden PrivateKey
		Shown  *PrivateKey
		List   []PrivateKey
		Map    map[string]PrivateKey
	}{key, &key, []PrivateKey{key}, map[string]PrivateKey{"k": key}}

	outputs := map[string]string{}
	wrongVerb := "%p" // fmt does not call Format for it
	outputs[wrongVerb] = fmt.Sprintf(wrongVerb+" "+wrongVerb, key, wrapped)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%t"} {
		if got := fmt.Sprintf(verb, key); got != "[private key]" {
			t.Errorf("%s prints %q, want \"[private key]\"", verb, got)
		}
		outputs[verb+" in a struct"] = fmt.Sprintf(verb, wrapped)
		outputs[verb+" of a pointer"] = fmt.Sprintf(verb, &wrapped)
	}
	encoded, err := json.Marshal(wrapped)
	if err != nil {
		t.Fatal(err)
	}
	outputs["json"] = string(encoded)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "key", key, "wrapped", wrapped)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "key", key, "wrapped", wrapped)
	outputs["slog"] = log.String()

	for name, output := range outputs {
		for _, trace := range traces {
			if strings.Contains(strings.ToLower(output), trace) {
				t.Errorf("%s shows the key: %s", name, output)
			}
		}
	}
}

func TestSignVectors(t *testing.T) {
	signed := 0
	for _, v := range bip.Signatures(t) {
		if len(v.Secret) == 0 {
			continue
		}
		signed++
		key := mustKey(t, [32]byte(v.Secret))
		if key.PublicKey() != v.Public {
			t.Errorf("vector %s: public key %x, want %x", v.Index, key.PublicKey(), v.Public)
		}
		sig, err := key.Sign(v.Message, [32]byte(v.Aux))
		if err != nil || sig != v.Signature {
			t.Errorf("vector %s: signature %x, want %x, error %v", v.Index, sig, v.Signature, err)
		}
	}
	if signed != 8 {
		t.Errorf("%d vectors with a secret key, not 8", signed)
	}
}

// signWithBtcec returns btcec's signature, which Sign must return too.
func signWithBtcec(t testing.TB, scalar, message, aux [32]byte) [64]byte {
	t.Helper()
	key, _ := btcec.PrivKeyFromBytes(scalar[:])
	sig, err := schnorr.Sign(key, message[:], schnorr.CustomNonce(aux))
	if err != nil {
		t.Fatal(err)
	}
	return [64]byte(sig.Serialize())
}

func TestSignAtTheEdges(t *testing.T) {
	message := bip340.TaggedHash("message")
	for _, scalar := range edgeScalars(t) {
		key := mustKey(t, scalar)
		sig, err := key.Sign(message[:], [32]byte{})
		if err != nil {
			t.Errorf("key %x: error %v", scalar, err)
		}
		if want := signWithBtcec(t, scalar, message, [32]byte{}); sig != want {
			t.Errorf("key %x: signature %x, btcec's %x", scalar, sig, want)
		}
	}
}

// FuzzSign compares Sign with btcec's.
func FuzzSign(f *testing.F) {
	f.Add([]byte{1}, []byte("message"), []byte{})
	f.Add(bip.Unhex(f, groupOrder), []byte{}, []byte("random"))
	f.Fuzz(func(t *testing.T, secret, seed, random []byte) {
		var scalar, aux [32]byte
		copy(scalar[:], secret)
		copy(aux[:], random)
		key, err := NewPrivateKey(scalar)
		if err != nil {
			return
		}
		message := bip340.TaggedHash("message", seed)
		sig, err := key.Sign(message[:], aux)
		if want := signWithBtcec(t, scalar, message, aux); err != nil || sig != want {
			t.Fatalf("key %x: signature %x, %v, btcec's %x", scalar, sig, err, want)
		}
	})
}

func TestSignDependsOnAllItsInputs(t *testing.T) {
	key := mustKey(t, bip340.TaggedHash("key"))
	other := mustKey(t, bip340.TaggedHash("other key"))
	seen := map[[32]byte]bool{} // a repeated nonce point would reveal the key
	for _, c := range []struct {
		key     PrivateKey
		message string
		aux     [32]byte
	}{
		{key, "", [32]byte{}}, {key, "a", [32]byte{}}, {key, "a", [32]byte{1}}, {other, "a", [32]byte{}},
	} {
		sig, err := c.key.Sign([]byte(c.message), c.aux)
		if err != nil {
			t.Fatal(err)
		}
		if r := [32]byte(sig[:32]); seen[r] {
			t.Errorf("R %x came twice", r)
		} else {
			seen[r] = true
		}
	}
}

func TestTapTweakVector(t *testing.T) {
	v := bip.Read[struct {
		InternalPrivateKey string `json:"internal_private_key"`
		InternalPublicKey  string `json:"internal_public_key"`
		TweakedPrivateKey  string `json:"tweaked_private_key"`
		TweakedPublicKey   string `json:"tweaked_public_key"`
		Address            string `json:"address"`
	}](t, "bip341.json")
	internal := mustKey(t, bip.Unhex32(t, v.InternalPrivateKey))
	if internal.PublicKey() != bip.Unhex32(t, v.InternalPublicKey) {
		t.Errorf("internal public key %x, want %x", internal.PublicKey(), bip.Unhex32(t, v.InternalPublicKey))
	}
	tweaked, err := internal.TapTweak()
	if err != nil {
		t.Fatal(err)
	}
	if tweaked.Bytes() != bip.Unhex32(t, v.TweakedPrivateKey) ||
		tweaked.PublicKey() != bip.Unhex32(t, v.TweakedPublicKey) {
		t.Errorf("tweaked key %x, public %x", tweaked.Bytes(), tweaked.PublicKey())
	}
	if got := bech32m.EncodeAddress("bc", tweaked.PublicKey()); got != v.Address {
		t.Errorf("address %s, want %s", got, v.Address)
	}
}

func TestTapTweakAgreesOnBothSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scalar := rapid.SliceOfN(rapid.Byte(), 32, 32).Filter(func(b []byte) bool {
			_, err := NewPrivateKey([32]byte(b))
			return err == nil
		}).Draw(t, "scalar")
		key, err := NewPrivateKey([32]byte(scalar))
		if err != nil {
			t.Fatal(err)
		}
		tweaked, err := key.TapTweak()
		if err != nil {
			t.Fatal(err)
		}
		public, err := bip340.TapTweakPublicKey(key.PublicKey())
		if err != nil || public != tweaked.PublicKey() {
			t.Fatalf("the private key's public key is %x, the tweaked one %x, error %v",
				tweaked.PublicKey(), public, err)
		}
	})
}

func TestSignAllSignsAsSignDoes(t *testing.T) {
	key := mustKey(t, bip340.TaggedHash("key"))
	for _, n := range []int{0, 1, 8, 9} {
		messages := make([][32]byte, n)
		for i := range messages {
			messages[i] = bip340.TaggedHash("message", []byte{byte(i)})
		}
		signatures, err := key.SignAll(messages, bip340.TaggedHash("aux"))
		if err != nil || len(signatures) != n {
			t.Fatalf("%d messages: %d signatures, error %v", n, len(signatures), err)
		}
		for i, message := range messages {
			if want, err := key.Sign(message[:], bip340.TaggedHash("aux")); err != nil || signatures[i] != want {
				t.Errorf("signature %d of %d: got %x, want %x, %v", i, n, signatures[i], want, err)
			}
		}
	}
}

func BenchmarkSignAll(b *testing.B) {
	key := mustKey(b, bip340.TaggedHash("key"))
	messages := make([][32]byte, 64)
	for b.Loop() {
		if _, err := key.SignAll(messages, messages[0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(64*b.N), "ns/signature")
}

func BenchmarkSign(b *testing.B) {
	key := mustKey(b, bip340.TaggedHash("key"))
	message := bip340.TaggedHash("message")
	for b.Loop() {
		if _, err := key.Sign(message[:], message); err != nil {
			b.Fatal(err)
		}
	}
}
