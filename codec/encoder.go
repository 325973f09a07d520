package codec

import "encoding/binary"

// Encoder appends encoded values to a buffer. The zero value is ready to use.
type Encoder struct {
	buf []byte
}

// NewEncoder returns an encoder whose buffer has room for size bytes.
func NewEncoder(size int) *Encoder { return &Encoder{buf: make([]byte, 0, size)} }

// Reset discards the encoded bytes but keeps the buffer: later writes overwrite the result of Data.
func (e *Encoder) Reset() { e.buf = e.buf[:0] }

// Data returns the encoded bytes. The encoder retains the buffer; the caller must not encode more while using the
// result.
func (e *Encoder) Data() []byte { return e.buf }

// Len returns the number of bytes encoded so far.
func (e *Encoder) Len() int { return len(e.buf) }

// U8 appends one byte.
func (e *Encoder) U8(v uint8) { e.buf = append(e.buf, v) }

// U16 appends two little-endian bytes.
func (e *Encoder) U16(v uint16) { e.buf = binary.LittleEndian.AppendUint16(e.buf, v) }

// U32 appends four little-endian bytes; this is also the encoding of an enum's variant number.
func (e *Encoder) U32(v uint32) { e.buf = binary.LittleEndian.AppendUint32(e.buf, v) }

// U64 appends eight little-endian bytes; this is also the encoding of a sequence's length.
func (e *Encoder) U64(v uint64) { e.buf = binary.LittleEndian.AppendUint64(e.buf, v) }

// Fixed appends the bytes of an array, without a length.
func (e *Encoder) Fixed(b []byte) { e.buf = append(e.buf, b...) }

// Bytes appends a byte vector: its length as u64, then its bytes.
func (e *Encoder) Bytes(b []byte) {
	e.U64(uint64(len(b)))
	e.buf = append(e.buf, b...)
}

// String appends a string: its length in bytes as u64, then its bytes.
func (e *Encoder) String(s string) {
	e.U64(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// Option appends the byte that indicates whether a value follows.
func (e *Encoder) Option(present bool) {
	if present {
		e.U8(1)
	} else {
		e.U8(0)
	}
}

// Bool appends a bool: one byte, 0 or 1.
func (e *Encoder) Bool(v bool) { e.Option(v) }
