package p256

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// TestWycheproof uses the r ‖ s signatures over SHA-256 published by Project Wycheproof, which allows any s.
func TestWycheproof(t *testing.T) {
	raw, err := os.ReadFile("testdata/wycheproof.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		P1363 []struct {
			Point string
			Tests []struct {
				ID       int
				Msg, Sig string
				Valid    bool
			}
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	tests := 0
	for _, group := range file.P1363 {
		point := [64]byte(unhex(t, group.Point))
		for _, test := range group.Tests {
			tests++
			signature, digest := unhex(t, test.Sig), sha256.Sum256(unhex(t, test.Msg))
			if len(signature) != 64 { // the chain has no other encoding
				if test.Valid {
					t.Errorf("%d: a valid signature of %d bytes", test.ID, len(signature))
				}
				continue
			}
			anyS := VerifyAny(point, [64]byte(signature), digest)
			if anyS != test.Valid {
				t.Errorf("%d: valid with any s: %t, want %t", test.ID, anyS, test.Valid)
			}
			want := test.Valid && hex.EncodeToString(signature[32:]) <= hex.EncodeToString(halfOrder)
			if got := Verify(point, [64]byte(signature), digest); got != want {
				t.Errorf("%d: valid with the low s: %t, want %t", test.ID, got, want)
			}
			if got := Verify(point, Lower([64]byte(signature)), digest); test.Valid && !got {
				t.Errorf("%d: not valid with the lower s", test.ID)
			}
		}
	}
	if tests != 262 {
		t.Errorf("%d signatures, want 262", tests)
	}
}
