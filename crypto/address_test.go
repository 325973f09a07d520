package crypto

import (
	"bytes"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
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
	vectors := readVectors[bip350Vectors](t, "bip350.json")
	accepted := 0
	for _, v := range vectors.Valid {
		// OP_1 and a push of 32 bytes begin the script of a taproot output.
		script := unhex(t, v.ScriptPubKey)
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
			// Which network it is of is the caller's question.
			if err != nil || hrp != "tc" {
				t.Errorf("%s: hrp %q, error %v", v.Address, hrp, err)
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
		program := TaggedHash(hrp)
		address := EncodeAddress(hrp, program)
		for _, form := range []string{address, strings.ToUpper(address)} {
			gotHRP, got, err := DecodeAddress(form)
			if err != nil || gotHRP != hrp || got != program {
				t.Errorf("%s: %s, %x, %v", form, gotHRP, got, err)
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
	address := EncodeAddress("bcrt", TaggedHash("typo"))
	for i := len("bcrt1"); i < len(address); i++ {
		for _, c := range charset {
			typo := address[:i] + string(c) + address[i+1:]
			_, _, err := DecodeAddress(typo)
			if (err == nil) != (typo == address) {
				t.Errorf("%s: error %v", typo, err)
			}
			// The checksum that would fit must not be suggested (BIP-173).
			if err != nil && strings.Contains(err.Error(), "expected") {
				t.Errorf("%s: error %v", typo, err)
			}
		}
	}
}

func FuzzDecodeAddress(f *testing.F) {
	vectors := readVectors[bip350Vectors](f, "bip350.json")
	for _, v := range vectors.Valid {
		f.Add(v.Address)
	}
	for _, v := range vectors.Invalid {
		f.Add(v.Address)
	}
	f.Add(EncodeAddress("bcrt", [32]byte{}))
	f.Fuzz(func(t *testing.T, address string) {
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
