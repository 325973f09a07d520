package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/crypto/p256"
	"github.com/cairn-chain/cairn/types"
)

// TestWycheproof uses the DER signatures published by Project Wycheproof: exactly the valid ones become signatures that
// the chain accepts.
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

// TestWebAuthn uses the ES256 assertions in the chapter "Test Vectors" of W3C's Web Authentication, commit
// 146d0db03cb88e69a8f6f0c3c168221abe73504b: the chain accepts each for its own challenge only.
func TestWebAuthn(t *testing.T) {
	raw, err := os.ReadFile("testdata/webauthn.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct{ Name, Challenge, Point, AuthenticatorData, ClientDataJSON, Signature string }
	if err := json.Unmarshal(raw, &examples); err != nil {
		t.Fatal(err)
	}
	if len(examples) != 10 {
		t.Errorf("%d examples, want 10", len(examples))
	}
	for _, e := range examples {
		point, challenge := [64]byte(unhex(t, e.Point)), [32]byte(unhex(t, e.Challenge))
		signer := NewPasskeySigner(point, false, func(context.Context, [32]byte, bool) (Assertion, error) {
			return Assertion{unhex(t, e.AuthenticatorData), unhex(t, e.ClientDataJSON), unhex(t, e.Signature)}, nil
		})
		made, err := signer.Evidence(t.Context(), Statement{Hash: challenge})
		if err != nil {
			t.Errorf("%s: error %v", e.Name, err)
			continue
		}
		evidence := made.(types.EvidencePasskey)
		for _, other := range []byte{0, 1} {
			challenge[0] ^= other
			digest := types.PasskeyDigest(challenge, evidence.Authenticator, evidence.Client)
			if got, want := p256.Verify(point, evidence.Signature, digest), other == 0; got != want {
				t.Errorf("%s, another challenge: %t: the signature holds: %t, want %t", e.Name, other == 1, got, want)
			}
		}
	}
}
