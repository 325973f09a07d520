package client

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/crypto/p256"
)

// TestWycheproof has the DER signatures that Project Wycheproof publishes: exactly the valid ones become signatures that
// the chain takes.
func TestWycheproof(t *testing.T) {
	raw, err := os.ReadFile("../crypto/p256/testdata/wycheproof.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		DER []struct {
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
	for _, group := range file.DER {
		point := [64]byte(unhex(t, group.Point))
		for _, test := range group.Tests {
			tests++
			signature, err := rawSignature(unhex(t, test.Sig))
			got := err == nil && p256.Verify(point, signature, sha256.Sum256(unhex(t, test.Msg)))
			if got != test.Valid {
				t.Errorf("%d: the chain takes it: %t, want %t", test.ID, got, test.Valid)
			}
		}
	}
	if tests != 484 {
		t.Errorf("%d signatures, want 484", tests)
	}
}
