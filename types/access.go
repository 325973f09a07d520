package types

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
)

// Access is a state key that a block's execution read or wrote, with its values before and after the block. An empty
// value means absence. An access with different values is a write.
type Access struct {
	Key, Old, New []byte
}

// Changed reports whether the access is a write.
func (a Access) Changed() bool { return !bytes.Equal(a.Old, a.New) }

// Limits of decoding an access: the longest key is a contract's storage key; the longest value is a storage value.
const (
	maxStateKeyBytes = 1 + 32 + MaxStorageKeyBytes
	minAccessBytes   = 3 * 8
	maxAccesses      = 1 << 24
)

// EncodeAccesses returns bincode(Vec<Access>).
func EncodeAccesses(accesses []Access) []byte {
	e := codec.NewEncoder(AccessesBytes(accesses))
	WriteAccesses(e, accesses)
	return e.Data()
}

// WriteAccesses appends the output of [EncodeAccesses].
func WriteAccesses(e *codec.Encoder, accesses []Access) {
	e.U64(uint64(len(accesses)))
	for _, a := range accesses {
		a.encode(e)
	}
}

// AccessesBytes returns the length of the output of [EncodeAccesses].
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

// DecodeAccesses decodes the output of [EncodeAccesses] and checks that keys strictly ascend. Byte fields alias b.
func DecodeAccesses(b []byte) ([]Access, error) {
	d := codec.NewDecoder(b)
	accesses := ReadAccesses(d, maxAccesses, len(b))
	return accesses, d.Finish()
}

// ReadAccesses reads accesses from d as [DecodeAccesses] does, and leaves the rest of d unread. It also fails d if
// there are more than the given number of entries, or if they take more than the given number of bytes.
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

// SkipAccesses skips the output of [EncodeAccesses]. It checks only the lengths.
func SkipAccesses(d *codec.Decoder) {
	for range d.Length(maxAccesses, minAccessBytes) {
		if readAccess(d); d.Err() != nil {
			return
		}
	}
}

// Writes returns the writes among a block's accesses, in the same order.
func Writes(accesses []Access) []Access {
	writes := make([]Access, 0, len(accesses))
	for _, a := range accesses {
		if a.Changed() {
			writes = append(writes, a)
		}
	}
	return writes
}

// DigestAccesses returns SHA256(bincode(Vec<Access>)): for a block's access list, the accesses_digest of its proof. It
// encodes the accesses piece by piece, because lists may have hundreds of megabytes.
func DigestAccesses(accesses []Access) (d Digest) {
	const piece = 8 << 10
	h, e := sha256.New(), codec.NewEncoder(piece+minAccessBytes+maxStateKeyBytes+2*MaxStorageValueBytes)
	e.U64(uint64(len(accesses)))
	for _, a := range accesses {
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
