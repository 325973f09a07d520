package wallet

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/cairn-chain/cairn/crypto/bech32m"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/testkit/bip"
	"golang.org/x/text/unicode/norm"
)

const (
	aboutMnemonic = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
	junkMnemonic  = "test test test test test test test test test test test junk"
)

type bip39Vector struct {
	Entropy  string `json:"entropy"`
	Mnemonic string `json:"mnemonic"`
	Seed     string `json:"seed"`
}

func TestMnemonicVectors(t *testing.T) {
	vectors := bip.Read[[]bip39Vector](t, "bip39.json")
	if len(vectors) != 24 {
		t.Fatalf("%d vectors, not 24", len(vectors))
	}
	for _, v := range vectors {
		mnemonic, err := NewMnemonic(bip.Unhex(t, v.Entropy))
		if err != nil || mnemonic != v.Mnemonic {
			t.Errorf("entropy %s: got %q, want %q, error %v", v.Entropy, mnemonic, v.Mnemonic, err)
		}
		entropy, err := ParseMnemonic(v.Mnemonic)
		if err != nil || hex.EncodeToString(entropy) != v.Entropy {
			t.Errorf("%q: entropy %x, error %v", v.Mnemonic, entropy, err)
		}
		seed, err := SeedFromMnemonic(v.Mnemonic, "TREZOR")
		if err != nil || hex.EncodeToString(seed) != v.Seed {
			t.Errorf("%q: seed %x, error %v", v.Mnemonic, seed, err)
		}
	}
}

// The word list equals BIP-39's byte for byte.
func TestWordList(t *testing.T) {
	const want = "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"
	if got := sha256.Sum256([]byte(english)); hex.EncodeToString(got[:]) != want || len(words) != 2048 {
		t.Errorf("%d words with the hash %x, want 2048 with %s", len(words), got, want)
	}
}

func TestNewMnemonicRefusesOtherLengths(t *testing.T) {
	for length := range 40 {
		_, err := NewMnemonic(make([]byte, length))
		if ok := length >= 16 && length <= 32 && length%4 == 0; (err == nil) != ok {
			t.Errorf("%d bytes: error %v", length, err)
		}
	}
}

func TestParseMnemonicErrors(t *testing.T) {
	for _, c := range []struct{ name, mnemonic, want string }{
		{"empty", "", "0 words"},
		{"11 words", strings.TrimSuffix(aboutMnemonic, " about"), "11 words"},
		{"13 words", aboutMnemonic + " about", "13 words"},
		{"27 words", strings.Repeat("abandon ", 26) + "about", "27 words"},
		{"checksum", strings.Replace(aboutMnemonic, "about", "abandon", 1), "hecksum"},
		{"unknown word", strings.Replace(aboutMnemonic, "about", "secretword", 1), "word 12 is not"},
		{"a private key", strings.Repeat("0123456789abcdef", 4), "1 words"},
		{"a byte-order mark within", strings.Replace(aboutMnemonic, "about", "\ufeffabout", 1), "word 12 is not"},
		{"too long", aboutMnemonic + strings.Repeat(" ", maxMnemonicBytes), "too long"},
	} {
		_, err := ParseMnemonic(c.mnemonic)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want an error with %q", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "abandon") || strings.Contains(err.Error(), "secretword")) {
			t.Errorf("%s: the error quotes a word: %v", c.name, err)
		}
		if _, err := SeedFromMnemonic(c.mnemonic, ""); err == nil {
			t.Errorf("%s has a seed", c.name)
		}
	}
}

func TestSeedIsOfNormalizedText(t *testing.T) {
	want, err := SeedFromMnemonic(aboutMnemonic, "")
	if err != nil {
		t.Fatal(err)
	}
	fullWidth := strings.Map(func(r rune) rune {
		if r == ' ' {
			return '\u3000' // ideographic space
		}
		return r + 'ａ' - 'a'
	}, aboutMnemonic)
	for _, form := range []string{
		fullWidth,
		"  " + strings.ReplaceAll(aboutMnemonic, " ", "\n\t ") + "\n",
		strings.ReplaceAll(aboutMnemonic, " ", "\r\n") + "\r\n",
		strings.ToUpper(aboutMnemonic),
		"\ufeff" + aboutMnemonic,
		"\ufeff" + strings.ToUpper(fullWidth),
	} {
		if got, err := SeedFromMnemonic(form, ""); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: got %x, want %x, error %v", form, got, want, err)
		}
	}
	// é as one code point and as two: both are hashed as two.
	want, err = pbkdf2.Key(sha512.New, aboutMnemonic, []byte("mnemonice\u0301"), 2048, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, passphrase := range []string{"\u00e9", "e\u0301"} {
		if got, err := SeedFromMnemonic(aboutMnemonic, passphrase); err != nil || !bytes.Equal(got, want) {
			t.Errorf("passphrase %+q: got %x, want %x, error %v", passphrase, got, want, err)
		}
	}
}

func TestDerivePathVectors(t *testing.T) {
	vectors := bip.Read[[]struct {
		Seed string   `json:"seed"`
		Path []uint32 `json:"path"`
		XPrv string   `json:"xprv"`
	}](t, "bip32.json")
	if len(vectors) != 17 {
		t.Fatalf("%d vectors, not 17", len(vectors))
	}
	for _, v := range vectors {
		extended, err := hdkeychain.NewKeyFromString(v.XPrv)
		if err != nil {
			t.Fatal(err)
		}
		want, err := extended.ECPrivKey()
		if err != nil {
			t.Fatal(err)
		}
		got, err := derivePath(bip.Unhex(t, v.Seed), v.Path...)
		if err != nil {
			t.Fatal(err)
		}
		if b := got.Bytes(); !bytes.Equal(b[:], want.Serialize()) {
			t.Errorf("seed %s, path %v: a key other than %s", v.Seed, v.Path, v.XPrv)
		}
	}
}

func TestDeriveBIP86Vectors(t *testing.T) {
	vectors := bip.Read[struct {
		Mnemonic string `json:"mnemonic"`
		Keys     []struct {
			Change      uint32 `json:"change"`
			Index       uint32 `json:"index"`
			InternalKey string `json:"internal_key"`
			OutputKey   string `json:"output_key"`
			Address     string `json:"address"`
		} `json:"keys"`
	}](t, "bip86.json")
	seed, err := SeedFromMnemonic(vectors.Mnemonic, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors.Keys) != 3 {
		t.Fatalf("%d keys, not 3", len(vectors.Keys))
	}
	for _, v := range vectors.Keys {
		key, err := DeriveBIP86(seed, 0, 0, v.Change, v.Index)
		if err != nil {
			t.Fatal(err)
		}
		output, err := bip340.TapTweakPublicKey(bip.Unhex32(t, v.InternalKey))
		if err != nil || output != bip.Unhex32(t, v.OutputKey) || key.PublicKey() != output {
			t.Errorf("%s: output key %x, public key %x, error %v", v.Address, output, key.PublicKey(), err)
		}
		if got := bech32m.EncodeAddress("bc", key.PublicKey()); got != v.Address {
			t.Errorf("address %s, want %s", got, v.Address)
		}
	}
}

// TestDeriveBIP86TestMnemonic checks the addresses of the mnemonic of development networks. An implementation in
// another language computed them from the text of the BIPs.
func TestDeriveBIP86TestMnemonic(t *testing.T) {
	seed, err := SeedFromMnemonic(junkMnemonic, "")
	if err != nil {
		t.Fatal(err)
	}
	for index, want := range []string{
		"bcrt1pfewlxm8meyyvgjydfu7v8j4ej64symj6ut8sf66h9germp94qgzs92e5zv",
		"bcrt1p6g8r5e8jvnvukaqgdauwag8lfkzvz3dng4057kv7avnpxpkghdkszxhwd4",
		"bcrt1pw4n0e9av3evnyt7j7x3wgrjrttqr4482x7kwpp78g7wnue59mvnse7srs6",
		"bcrt1plafgmyp8xpy9fvljgmeaea57zsad2aqujxcqmag6u9r3zpmyg6aqek54f7",
		"bcrt1p0lxykduwlrn4th0xxpkvthqp65gdtra9u37v6hph0qzdj30p0mmsdf33qf",
		"bcrt1p7cu9z0lw59tenp4u7hmffeljguphvst0qzpvtk34npldjtmtl54se4j8ep",
		"bcrt1pea8j006593kfcx2tpzz2f3s7s0vjpdmm6hn9uhz20hx2knpuqe2s02jyg4",
		"bcrt1pnlg2e8tejp02sta5uehzmywmugnz05dc4pyafqpm7hsf7jp4kcvqtqlg5y",
		"bcrt1pzngm2d8pzvel0fa3mhspvwqq6sng87h24kur8lr9ddwevf96az9sn2l385",
		"bcrt1p79jyvehx53w09csltcyg6p23s9uc07f80f57w7yj7lzytp6c2zjsht5acr",
	} {
		key, err := DeriveBIP86(seed, 1, 0, 0, uint32(index))
		if err != nil {
			t.Fatal(err)
		}
		if got := bech32m.EncodeAddress("bcrt", key.PublicKey()); got != want {
			t.Errorf("index %d: %s, want %s", index, got, want)
		}
	}
}

func TestDeriveBIP86Errors(t *testing.T) {
	seed := make([]byte, 64)
	const hardened = 1 << 31
	for _, path := range [][4]uint32{{hardened, 0, 0, 0}, {0, hardened, 0, 0}, {0, 0, hardened, 0}, {0, 0, 0, hardened}} {
		if _, err := DeriveBIP86(seed, path[0], path[1], path[2], path[3]); err == nil {
			t.Errorf("path %v is accepted", path)
		}
	}
	for _, length := range []int{0, 15, 65} {
		if _, err := DeriveBIP86(make([]byte, length), 0, 0, 0, 0); err == nil {
			t.Errorf("a seed of %d bytes is accepted", length)
		}
	}
	if _, err := DeriveBIP86(seed, hardened-1, hardened-1, hardened-1, hardened-1); err != nil {
		t.Errorf("the largest numbers are refused: error %v", err)
	}
}

// FuzzMnemonic checks that text that parses is exactly the mnemonic of its entropy, and that every entropy is
// recovered.
func FuzzMnemonic(f *testing.F) {
	f.Add(make([]byte, 16), aboutMnemonic)
	f.Add(bytes.Repeat([]byte{0xff}, 32), junkMnemonic)
	f.Add([]byte("seventeen bytes!!"), "abandon\u3000about")
	f.Fuzz(func(t *testing.T, entropy []byte, text string) {
		if mnemonic, err := NewMnemonic(entropy); err == nil {
			back, err := ParseMnemonic(mnemonic)
			if err != nil || !bytes.Equal(back, entropy) {
				t.Fatalf("entropy %x: %q parses to %x, error %v", entropy, mnemonic, back, err)
			}
		}
		parsed, err := ParseMnemonic(text)
		if err != nil {
			return
		}
		mnemonic, err := NewMnemonic(parsed)
		if want := strings.Join(strings.Fields(norm.NFKD.String(text)), " "); err != nil || mnemonic != want {
			t.Fatalf("%q parses to %x, the mnemonic %q, want %q, error %v", text, parsed, mnemonic, want, err)
		}
	})
}
