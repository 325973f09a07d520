package types

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"

	"github.com/cairn-chain/cairn/codec"
)

// Access is a state key that a block's execution read or wrote, with its value before and after the block; an
// empty value is absence. One whose values differ is a write.
type Access struct {
	Key, Old, New []byte
}

// Changed reports whether the access is a write.
func (a Access) Changed() bool { return !bytes.Equal(a.Old, a.New) }

// Limits of decoding an access: the longest key is a contract's storage key; the longest value a storage value.
const (
	maxStateKeyBytes = 1 + 32 + MaxStorageKeyBytes
	minAccessBytes   = 3 * 8
	maxAccesses      = 1 << 24
)

// EncodeAccesses is bincode(Vec<Access>).
func EncodeAccesses(accesses []Access) []byte {
	e := codec.NewEncoder(AccessesBytes(accesses))
	WriteAccesses(e, accesses)
	return e.Data()
}

// WriteAccesses writes what [EncodeAccesses] gives.
func WriteAccesses(e *codec.Encoder, accesses []Access) {
	e.U64(uint64(len(accesses)))
	for _, a := range accesses {
		a.encode(e)
	}
}

// AccessesBytes is the length of what [EncodeAccesses] gives.
func AccessesBytes(accesses []Access) int {
	size := 8
	for _, a := range accesses {
		size += minAccessBytes + len(a.Key) + len(a.Old) + len(a.New)
	}
	return size
}

func (a Access) encode(e *codec.Encoder) {
	e.Bytes(a.Key)
	e.Bytes(a.Old)
	e.Bytes(a.New)
}

// DecodeAccesses decodes what [EncodeAccesses] gives and checks that keys ascend strictly. Byte fields alias b.
func DecodeAccesses(b []byte) ([]Access, error) {
	d := codec.NewDecoder(b)
	accesses := ReadAccesses(d, maxAccesses, len(b))
	return accesses, d.Finish()
}

// ReadAccesses reads what [EncodeAccesses] gives, at the beginning of what d has left, and fails d as [DecodeAccesses]
// would. It fails d also if there are more than so many entries, or they take more bytes.
func ReadAccesses(d *codec.Decoder, entries, bytes int) []Access {
	end := d.Offset() + bytes
	accesses := make([]Access, 0, d.Length(min(entries, maxAccesses), minAccessBytes))
	for i := range cap(accesses) {
		a := readAccess(d)
		if i > 0 && string(accesses[i-1].Key) >= string(a.Key) {
			d.Fail(fmt.Errorf("access %d: keys do not ascend", i))
		}
		if d.Offset() > end {
			d.Fail(fmt.Errorf("%w: accesses of more than %d bytes", codec.ErrTooLong, bytes))
		}
		if d.Err() != nil {
			break
		}
		accesses = append(accesses, a)
	}
	return accesses
}

func readAccess(d *codec.Decoder) Access {
	return Access{Key: d.Bytes(maxStateKeyBytes), Old: d.Bytes(MaxStorageValueBytes), New: d.Bytes(MaxStorageValueBytes)}
}

// SkipAccesses reads what [EncodeAccesses] gives, keeps nothing of it, and judges only its lengths.
func SkipAccesses(d *codec.Decoder) {
	for range d.Length(maxAccesses, minAccessBytes) {
		if readAccess(d); d.Err() != nil {
			return
		}
	}
}

// Writes is the part of a block's accesses whose values differ, in the same order.
func Writes(accesses []Access) []Access {
	writes := make([]Access, 0, len(accesses))
	for _, a := range accesses {
		if a.Changed() {
			writes = append(writes, a)
		}
	}
	return writes
}

// DigestAccesses is SHA256(bincode(Vec<Access>)): over a block's writes the header's writes_digest, over all its
// accesses the accesses_digest of its proof.
func DigestAccesses(accesses []Access) Digest {
	return digestAccesses(len(accesses), slices.Values(accesses))
}

// DigestWrites is [DigestAccesses] of [Writes].
func DigestWrites(accesses []Access) Digest {
	writes := 0
	for _, a := range accesses {
		if a.Changed() {
			writes++
		}
	}
	return digestAccesses(writes, func(yield func(Access) bool) {
		for _, a := range accesses {
			if a.Changed() && !yield(a) {
				return
			}
		}
	})
}

// digestAccesses encodes a piece after the other: lists have up to hundreds of megabytes.
func digestAccesses(n int, accesses iter.Seq[Access]) (d Digest) {
	const piece = 8 << 10
	h, e := sha256.New(), codec.NewEncoder(piece+minAccessBytes+maxStateKeyBytes+2*MaxStorageValueBytes)
	e.U64(uint64(n))
	for a := range accesses {
		a.encode(e)
		if e.Len() >= piece {
			h.Write(e.Data())
			e.Reset()
		}
	}
	h.Write(e.Data())
	h.Sum(d[:0])
	return d
}
