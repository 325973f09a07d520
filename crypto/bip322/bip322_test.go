package bip322

import (
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/cairn-chain/cairn/crypto/bech32m"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

// TestPublished checks the taproot vectors of BIP-322's basic-test-vectors.json.
func TestPublished(t *testing.T) {
	const address, text = "bc1pss0zhytly75awhm6x2hhvd5lnzv3vssgrf9axfheq8ldyzn88ges79fler", "No prefix fallback"
	const stack = "AUCJYOwOjxYAvatTAGYaVlNXBVyFuc4MwNQkOuK2tl8xhfKDONd0NjfYyNSYcRqeCp8hsAnCEPHAVEkO9h6vbQ/R"
	_, key, err := bech32m.DecodeAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(stack)
	if err != nil || len(raw) != 66 || raw[0] != 1 || raw[1] != 64 {
		t.Fatalf("%v: got %x", err, raw)
	}
	signature := [64]byte(raw[2:])
	message := Message(key, text, 0)
	if !bip340.Verify(key, message[:], signature) {
		t.Error("the published signature does not hold")
	}
	for name, m := range map[string][32]byte{
		"another text":      Message(key, text+".", 0),
		"no text":           Message(key, "", 0),
		"another key":       Message([32]byte{1}, text, 0),
		"another hash type": Message(key, text, 1),
	} {
		if bip340.Verify(key, m[:], signature) {
			t.Errorf("%s: the signature holds", name)
		}
	}
}

// TestMessageHash checks the published hashes of texts.
func TestMessageHash(t *testing.T) {
	for text, want := range map[string]string{
		"":            "c90c269c4f8fcbe6880f72a721ddfbf1914268a794cbb21cfafee13770ae19f1",
		"Hello World": "f0eb03b1a75ac6d9847f55c624a99169b5dccba2a31f5b23bea77ba270de0a7a",
	} {
		if got := tagMessage.Hash([]byte(text)); hex.EncodeToString(got[:]) != want {
			t.Errorf("%q: got %x", text, got)
		}
	}
}

func BenchmarkMessage(b *testing.B) {
	text := string(make([]byte, 400))
	for b.Loop() {
		Message([32]byte{1}, text, 0)
	}
}
