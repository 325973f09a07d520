package bip340

import (
	"crypto/sha256"
	"hash"
)

// Tag is a domain of tagged hashes (BIP-340). It holds the state of SHA-256 after the first block, SHA256(name) ‖
// SHA256(name), so that a hash costs no more blocks than its message. Create one with [NewTag]. A Tag is safe for
// concurrent use.
type Tag struct {
	midstate hash.Cloner
}

// NewTag returns the tag with the given name.
func NewTag(name string) Tag {
	digest := sha256.Sum256([]byte(name))
	h := sha256.New()
	h.Write(digest[:])
	h.Write(digest[:])
	return Tag{midstate: h.(hash.Cloner)}
}

// Hash returns SHA256(SHA256(name) ‖ SHA256(name) ‖ parts...). The parts are concatenated without lengths: callers must
// use fixed sizes or encode where each part ends.
func (t Tag) Hash(parts ...[]byte) [32]byte {
	h, err := t.midstate.Clone()
	if err != nil {
		panic("bip340: " + err.Error()) // the standard library's SHA-256 can always be cloned
	}
	for _, part := range parts {
		h.Write(part)
	}
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

// TaggedHash is NewTag(tag).Hash(parts...), for tags that are used once.
func TaggedHash(tag string, parts ...[]byte) [32]byte {
	return NewTag(tag).Hash(parts...)
}
