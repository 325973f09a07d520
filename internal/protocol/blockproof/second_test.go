package blockproof

import (
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/plainverifier"
)

// TestSecondVerifier checks the proof of a block with the verifier that was written from docs/proofs.md alone.
func TestSecondVerifier(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	s := newState()
	changes := map[string][]byte{}
	for i := range 12 {
		changes[key(i)] = []byte{byte(i), 1}
	}
	s.apply(t, changes)
	statement, accesses, w := s.apply(t, map[string][]byte{key(3): {9}, key(4): nil, key(50): nil, key(51): {7}})
	segments, err := collect(Trace(statement, accesses, w, goroutines))
	if err != nil {
		t.Fatal(err)
	}
	proven, err := decodeProof(prove(t, segments))
	if err != nil {
		t.Fatal(err)
	}
	for i := range segments {
		instance := plainverifier.Of(&segments[i].Instance)
		argument := proven[i].argument
		if err := plainverifier.Verify(instance, argument); err != nil {
			t.Errorf("segment %d: error %v", i, err)
		}
		instance.Public[0] ^= 1
		if err := plainverifier.Verify(instance, argument); err == nil {
			t.Errorf("segment %d: another public input is accepted", i)
		}
		instance.Public[0] ^= 1
		argument[len(argument)/2] ^= 1
		if err := plainverifier.Verify(instance, argument); err == nil {
			t.Errorf("segment %d: a changed byte is accepted", i)
		}
	}
}
