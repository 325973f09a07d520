package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

var (
	// ErrShort is returned if a proof ends too early.
	ErrShort = errors.New("proof is too short")
	// ErrLong is returned if bytes are left after the end of a proof.
	ErrLong = errors.New("proof is too long")
)

// Reader reads a proof from its first byte to its last. A proof contains no lengths: the length of each part follows
// from the statement, the parameters and the earlier draws.
type Reader struct {
	rest []byte
}

// NewReader returns a reader of proof. It retains proof.
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

// Digest reads a SHA-256 digest.
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

// End returns ErrLong unless the whole proof was read.
func (r *Reader) End() error {
	if len(r.rest) > 0 {
		return ErrLong
	}
	return nil
}
