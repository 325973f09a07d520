package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

var (
	// ErrShort says that a proof ends before what must be in it.
	ErrShort = errors.New("proof is too short")
	// ErrLong says that bytes are left over after a proof's end.
	ErrLong = errors.New("proof is too long")
)

// Reader reads a proof from its first byte to its last. A proof has no lengths in it: each part's follows from the
// statement, the parameters and what was drawn before it.
type Reader struct {
	rest []byte
}

// NewReader returns a reader of proof, of which it keeps no copy.
func NewReader(proof []byte) *Reader { return &Reader{proof} }

// Bytes reads n bytes.
func (r *Reader) Bytes(n int) ([]byte, error) {
	if len(r.rest) < n {
		return nil, ErrShort
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

// Digest reads a digest of SHA-256.
func (r *Reader) Digest() (d [sha256.Size]byte, err error) {
	b, err := r.Bytes(len(d))
	copy(d[:], b)
	return d, err
}

// Uint64 reads eight bytes, little-endian.
func (r *Reader) Uint64() (uint64, error) {
	b, err := r.Bytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// Ext reads n elements of E.
func (r *Reader) Ext(n int) ([]field.Ext, error) {
	b, err := r.Bytes(field.ExtSize * n)
	if err != nil {
		return nil, err
	}
	return field.DecodeExts(b)
}

// End fails with ErrLong unless everything was read.
func (r *Reader) End() error {
	if len(r.rest) > 0 {
		return ErrLong
	}
	return nil
}
