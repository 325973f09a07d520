package bip340

import "crypto/sha256"

// Tag is a domain of tagged hashes (BIP-340). Create one with [NewTag]. A Tag is safe for concurrent use.
type Tag struct {
	prefix [64]byte // SHA256(name) twice
}

// NewTag returns the tag with the given name.
func NewTag(name string) (t Tag) {
	digest := sha256.Sum256([]byte(name))
	copy(t.prefix[:], digest[:])
	copy(t.prefix[32:], digest[:])
	return t
}

// Hash returns SHA256(SHA256(name) ‖ SHA256(name) ‖ parts...). The parts are concatenated without lengths: callers must
// use fixed sizes or encode where each part ends.
func (t Tag) Hash(parts ...[]byte) [32]byte {
	// Most messages are short. To hash the prefix each time is faster than to copy the state of the hash after it, which
	// is an allocation.
	var room [512]byte
	message := room[:0]
	length := len(t.prefix)
	for _, part := range parts {
		length += len(part)
	}
	if length > len(room) {
		message = make([]byte, 0, length)
	}
	message = append(message, t.prefix[:]...)
	for _, part := range parts {
		message = append(message, part...)
	}
	return sha256.Sum256(message)
}

// TaggedHash is NewTag(tag).Hash(parts...), for tags that are used once.
func TaggedHash(tag string, parts ...[]byte) [32]byte {
	return NewTag(tag).Hash(parts...)
}
