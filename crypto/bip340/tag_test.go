package bip340

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"testing"
)

func TestTaggedHashFollowsItsDefinition(t *testing.T) {
	name := "cairn/test"
	tag := NewTag(name)
	prefix := sha256.Sum256([]byte(name))
	for _, length := range []int{0, 1, 31, 32, 55, 56, 64, 65, 1000} {
		message := bytes.Repeat([]byte{0xa5}, length)
		want := sha256.Sum256(bytes.Join([][]byte{prefix[:], prefix[:], message}, nil))
		for split := 0; split <= length; split += 1 + length/3 {
			if got := tag.Hash(message[:split], message[split:]); got != want {
				t.Errorf("Hash of %d bytes split at %d: %x, want %x", length, split, got, want)
			}
		}
		if got := TaggedHash(name, message); got != want {
			t.Errorf("TaggedHash of %d bytes: %x, want %x", length, got, want)
		}
	}
}

func TestTagsSeparateDomains(t *testing.T) {
	if TaggedHash("a", []byte("m")) == TaggedHash("b", []byte("m")) {
		t.Error("two tags hash alike")
	}
}

// With -race, this test shows that nothing writes to a Tag.
func TestTagIsSharedBetweenGoroutines(t *testing.T) {
	tag := NewTag("cairn/test")
	want := tag.Hash([]byte("message"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if tag.Hash([]byte("message")) != want {
					t.Error("hash differs")
				}
			}
		})
	}
	group.Wait()
}
