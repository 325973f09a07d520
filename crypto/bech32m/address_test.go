package bech32m

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/cairn-chain/cairn/internal/testkit/bip"
)

type bip350Vectors struct {
	Valid []struct {
		Address      string `json:"address"`
		ScriptPubKey string `json:"scriptPubKey"`
	} `json:"valid"`
	Invalid []struct {
		Address string `json:"address"`
		Reason  string `json:"reason"`
	} `json:"invalid"`
	NotAddresses []string `json:"not_addresses"`
}

func TestDecodeAddressVectors(t *testing.T) {
	vectors := bip.Read[bip350Vectors](t, "bip350.json")
	accepted := 0
	for _, v := range vectors.Valid {
		// The script of a taproot output begins with OP_1 and a push of 32 bytes.
		script := bip.Unhex(t, v.ScriptPubKey)
		taproot := bytes.HasPrefix(script, []byte{0x51, 0x20})
		hrp, program, err := DecodeAddress(v.Address)
		if (err == nil) != taproot {
			t.Errorf("%s: error %v", v.Address, err)
		}
		if !taproot {
			continue
		}
		accepted++
		if !bytes.Equal(program[:], script[2:]) || EncodeAddress(hrp, program) != strings.ToLower(v.Address) {
			t.Errorf("%s: hrp %s, program %x", v.Address, hrp, program)
		}
	}
	if accepted != 2 {
		t.Errorf("%d vectors accepted, not 2", accepted)
	}
	for _, v := range vectors.Invalid {
		hrp, _, err := DecodeAddress(v.Address)
		if v.Reason == "Invalid human-readable part" {
			// The caller must check the network.
			if err != nil || hrp != "tc" {
				t.Errorf("%s: hrp %q, want \"tc\", error %v", v.Address, hrp, err)
			}
		} else if err == nil {
			t.Errorf("%s is accepted: %s", v.Address, v.Reason)
		}
	}
	for _, s := range append(vectors.NotAddresses, "\x801vctc34", "", "1", "bc1", "bc1p") {
		if _, _, err := DecodeAddress(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestAddressRoundTrip(t *testing.T) {
	for _, hrp := range []string{"bc", "tb", "bcrt", strings.Repeat("a", 30)} {
		program := sha256.Sum256([]byte(hrp))
		address := EncodeAddress(hrp, program)
		for _, form := range []string{address, strings.ToUpper(address)} {
			gotHRP, got, err := DecodeAddress(form)
			if err != nil || gotHRP != hrp || got != program {
				t.Errorf("%s: got %s, want %s, %x, want %x, error %v", form, gotHRP, hrp, got, program, err)
			}
		}
		mixed := strings.ToUpper(address[:len(hrp)]) + address[len(hrp):]
		if _, _, err := DecodeAddress(mixed); err == nil {
			t.Errorf("%s is accepted", mixed)
		}
	}
	if _, _, err := DecodeAddress(EncodeAddress(strings.Repeat("a", 31), [32]byte{})); err == nil {
		t.Error("an address of 91 characters is accepted")
	}
}

func TestDecodeAddressRefusesOtherVersionsAndLengths(t *testing.T) {
	for version := byte(0); version < 32; version++ {
		for _, length := range []int{0, 1, 2, 20, 31, 32, 33, 40} {
			groups, err := bech32.ConvertBits(bytes.Repeat([]byte{0xaa}, length), 8, 5, true)
			if err != nil {
				t.Fatal(err)
			}
			address, err := bech32.EncodeM("bc", append([]byte{version}, groups...))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := DecodeAddress(address); (err == nil) != (version == 1 && length == 32) {
				t.Errorf("version %d, %d bytes: error %v", version, length, err)
			}
		}
	}
}

func TestDecodeAddressFindsTypos(t *testing.T) {
	const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	address := EncodeAddress("bcrt", sha256.Sum256([]byte("typo")))
	for i := len("bcrt1"); i < len(address); i++ {
		for _, c := range charset {
			typo := address[:i] + string(c) + address[i+1:]
			_, _, err := DecodeAddress(typo)
			if (err == nil) != (typo == address) {
				t.Errorf("%s: error %v", typo, err)
			}
			// The decoder must not suggest the checksum that would fit (BIP-173).
			if err != nil && strings.Contains(err.Error(), "expected") {
				t.Errorf("%s: error %v", typo, err)
			}
		}
	}
}

// plainDecode decodes an address with another implementation of bech32.
func plainDecode(addr string) (hrp string, program [32]byte, err error) {
	hrp, groups, encoding, err := bech32.DecodeGeneric(addr)
	var mismatch bech32.ErrInvalidChecksum
	switch {
	case errors.As(err, &mismatch):
		return "", program, errors.New("bech32m: address: checksum does not match")
	case err != nil:
		return "", program, fmt.Errorf("bech32m: address: %w", err)
	case encoding != bech32.VersionM:
		return "", program, errors.New("bech32m: address: not bech32m")
	case len(groups) == 0 || groups[0] != 1:
		return "", program, errors.New("bech32m: address: witness version is not 1")
	}
	decoded, err := bech32.ConvertBits(groups[1:], 5, 8, false)
	if err != nil {
		return "", program, fmt.Errorf("bech32m: address: %w", err)
	}
	if len(decoded) != 32 {
		return "", program, fmt.Errorf("bech32m: address: witness program of %d bytes, not 32", len(decoded))
	}
	return hrp, [32]byte(decoded), nil
}

// checkDecode compares DecodeAddress with plainDecode, errors included.
func checkDecode(t *testing.T, addr string) {
	t.Helper()
	hrp, program, err := DecodeAddress(addr)
	wantHRP, wantProgram, wantErr := plainDecode(addr)
	if hrp != wantHRP || program != wantProgram || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q: %q, %x, %v; other decoder %q, %x, %v", addr, hrp, program, err, wantHRP, wantProgram, wantErr)
	}
}

// encodeGroups encodes groups of 5 bits with the checksum of version.
func encodeGroups(t testing.TB, hrp string, groups []byte, version bech32.Version) string {
	encode := bech32.EncodeM
	if version == bech32.Version0 {
		encode = bech32.Encode
	}
	address, err := encode(hrp, groups)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// TestDecodeAddressLikeThePlainOne decodes strings with valid checksums of all lengths, paddings and cases, and each of
// them with one character changed.
func TestDecodeAddressLikeThePlainOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	hrps := []string{"a", "bc", "bcrt", "x1y", "1", "11", "~!z", strings.Repeat("h", 30)}
	for count := range 80 {
		groups := make([]byte, count)
		for i := range groups {
			groups[i] = byte(random.IntN(32))
		}
		if count > 0 && random.IntN(4) > 0 {
			groups[0] = witnessVersion
		}
		for _, last := range []byte{0, 1, 16, 31} {
			if count > 1 {
				groups[count-1] = last
			}
			for _, version := range []bech32.Version{bech32.Version0, bech32.VersionM} {
				address := encodeGroups(t, hrps[random.IntN(len(hrps))], groups, version)
				checkDecode(t, address)
				checkDecode(t, strings.ToUpper(address))
				changed := []byte(address)
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
				checkDecode(t, string(changed))
			}
		}
	}
	address := EncodeAddress("bcrt", sha256.Sum256([]byte("every character")))
	for i := range len(address) {
		for c := range 256 {
			changed := []byte(address)
			changed[i] = byte(c)
			checkDecode(t, string(changed))
		}
		checkDecode(t, address[:i])
		checkDecode(t, address[i:])
	}
}

func TestEncodeAddressLikeThePlainOne(t *testing.T) {
	for i := range 100 {
		program := sha256.Sum256([]byte{byte(i)})
		groups, err := bech32.ConvertBits(program[:], 8, 5, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, hrp := range []string{"bc", "tb", "bcrt", "1", strings.Repeat("z", 30)} {
			want := encodeGroups(t, hrp, append([]byte{witnessVersion}, groups...), bech32.VersionM)
			if got := EncodeAddress(hrp, program); got != want {
				t.Fatalf("%s, not %s", got, want)
			}
		}
	}
}

func TestDecodeAddressAllocatesNothing(t *testing.T) {
	address := EncodeAddress("bcrt", sha256.Sum256([]byte("allocations")))
	if n := testing.AllocsPerRun(100, func() { _, _, _ = DecodeAddress(address) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkDecodeAddress(b *testing.B) {
	address := EncodeAddress("bcrt", sha256.Sum256([]byte("benchmark")))
	for b.Loop() {
		if _, _, err := DecodeAddress(address); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeAddressPlain(b *testing.B) {
	address := EncodeAddress("bcrt", sha256.Sum256([]byte("benchmark")))
	for b.Loop() {
		if _, _, err := plainDecode(address); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDecodeAddress(f *testing.F) {
	vectors := bip.Read[bip350Vectors](f, "bip350.json")
	for _, v := range vectors.Valid {
		f.Add(v.Address)
	}
	for _, v := range vectors.Invalid {
		f.Add(v.Address)
	}
	f.Add(EncodeAddress("bcrt", [32]byte{}))
	f.Add(encodeGroups(f, "bc", []byte{1, 2, 3}, bech32.VersionM))
	f.Fuzz(func(t *testing.T, address string) {
		checkDecode(t, address)
		hrp, program, err := DecodeAddress(address)
		if err != nil {
			if hrp != "" || program != [32]byte{} {
				t.Fatalf("%q: error with a result", address)
			}
			return
		}
		if EncodeAddress(hrp, program) != strings.ToLower(address) {
			t.Fatalf("%q decodes to %q, %x, which encodes otherwise", address, hrp, program)
		}
	})
}
