package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Errors of a [Decoder]. Every error wraps one of these, or the error that the caller passed to [Decoder.Fail].
var (
	ErrTruncated  = errors.New("input ends too early")
	ErrTrailing   = errors.New("bytes are left over")
	ErrTooLong    = errors.New("length exceeds its limit")
	ErrBadOption  = errors.New("option byte is neither 0 nor 1")
	ErrBadBool    = errors.New("bool is neither 0 nor 1")
	ErrBadUTF8    = errors.New("string is not UTF-8")
	ErrBadVariant = errors.New("unknown variant")
)

// Decoder reads encoded values from a buffer. Its first error is sticky: later reads return zero values, so a caller
// can read a whole structure and check once, with [Decoder.Finish] or [Decoder.Err].
type Decoder struct {
	buf []byte
	off int
	err error
}

// NewDecoder returns a decoder for b, which must not be modified while results that alias it are in use.
func NewDecoder(b []byte) *Decoder { return &Decoder{buf: b} }

// Err returns the first error, or nil.
func (d *Decoder) Err() error { return d.err }

// Offset returns the number of bytes read so far.
func (d *Decoder) Offset() int { return d.off }

// Remaining returns the number of bytes not read yet, or 0 after an error.
func (d *Decoder) Remaining() int {
	if d.err != nil {
		return 0
	}
	return len(d.buf) - d.off
}

// Fail sets the decoder's error unless it already has one. Callers use it for their own rules.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("at byte %d: %w", d.off, err)
	}
}

// Finish returns the first error, or [ErrTrailing] if input is left.
func (d *Decoder) Finish() error {
	if d.err == nil && d.off != len(d.buf) {
		d.Fail(ErrTrailing)
	}
	return d.err
}

func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.buf)-d.off {
		d.Fail(ErrTruncated)
		return nil
	}
	b := d.buf[d.off : d.off+n : d.off+n]
	d.off += n
	return b
}

// U8 reads one byte.
func (d *Decoder) U8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two little-endian bytes.
func (d *Decoder) U16() uint16 {
	if b := d.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four little-endian bytes.
func (d *Decoder) U32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight little-endian bytes.
func (d *Decoder) U64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Fixed fills dst with an array's bytes. After an error it leaves dst unchanged.
func (d *Decoder) Fixed(dst []byte) { copy(dst, d.take(len(dst))) }

// Length reads the u64 length of a sequence of at most limit elements, each at least size bytes long. It checks that
// the input can hold them, so that the caller may allocate memory for the elements.
func (d *Decoder) Length(limit, size int) int {
	n := d.U64()
	if d.err != nil {
		return 0
	}
	if n > uint64(limit) {
		d.Fail(fmt.Errorf("%w: %d, at most %d", ErrTooLong, n, limit))
		return 0
	}
	if n*uint64(size) > uint64(d.Remaining()) {
		d.Fail(ErrTruncated)
		return 0
	}
	return int(n)
}

// Bytes reads a byte vector of at most limit bytes. The result aliases the input; it is nil when empty.
func (d *Decoder) Bytes(limit int) []byte {
	n := d.Length(limit, 1)
	if n == 0 {
		return nil
	}
	return d.take(n)
}

// String reads a string of at most limit bytes and checks that it is UTF-8.
func (d *Decoder) String(limit int) string {
	b := d.Bytes(limit)
	if !utf8.Valid(b) {
		d.Fail(ErrBadUTF8)
		return ""
	}
	return string(b)
}

// Option reads the byte that indicates whether a value follows: 0 or 1.
func (d *Decoder) Option() bool {
	v := d.U8()
	if v > 1 {
		d.Fail(ErrBadOption)
	}
	return v == 1
}

// Bool reads a bool: one byte, 0 or 1.
func (d *Decoder) Bool() bool {
	v := d.U8()
	if v > 1 {
		d.Fail(ErrBadBool)
	}
	return v == 1
}

// Variant reads the variant number of an enum, one of 0 … count − 1.
func (d *Decoder) Variant(count uint32) uint32 {
	v := d.U32()
	if d.err == nil && v >= count {
		d.Fail(fmt.Errorf("%w: %d", ErrBadVariant, v))
		return 0
	}
	return v
}

// Variant8 reads a one-byte value, one of 0 … count − 1, such as a status. It is not for an enum's variant number.
func (d *Decoder) Variant8(count uint8) uint8 {
	v := d.U8()
	if d.err == nil && v >= count {
		d.Fail(fmt.Errorf("%w: %d", ErrBadVariant, v))
		return 0
	}
	return v
}
