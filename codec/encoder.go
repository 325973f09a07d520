package codec

import "encoding/binary"

// Encoder appends encoded values to a buffer. The zero value is ready to use.
type Encoder struct {
	buf []byte
}

// NewEncoder returns an encoder whose buffer has room for size bytes.
func NewEncoder(size int) *Encoder { return &Encoder{buf: make([]byte, 0, size)} }

// Reset forgets what was encoded and keeps the buffer: what Data returned is overwritten.
func (e *Encoder) Reset() { e.buf = e.buf[:0] }

// Data returns what was encoded so far. The encoder keeps the buffer: encode no more while it is in use.
func (e *Encoder) Data() []byte { return e.buf }

// Len is the number of bytes encoded so far.
func (e *Encoder) Len() int { return len(e.buf) }

// U8 appends one byte.
func (e *Encoder) U8(v uint8) { e.buf = append(e.buf, v) }

// U16 appends two little-endian bytes.
func (e *Encoder) U16(v uint16) { e.buf = binary.LittleEndian.AppendUint16(e.buf, v) }

// U32 appends four little-endian bytes; an enum's variant is one.
func (e *Encoder) U32(v uint32) { e.buf = binary.LittleEndian.AppendUint32(e.buf, v) }

// U64 appends eight little-endian bytes; the length before a sequence is one.
func (e *Encoder) U64(v uint64) { e.buf = binary.LittleEndian.AppendUint64(e.buf, v) }

// Fixed appends the bytes of an array: no length.
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

// Option appends the byte that says whether a value follows.
func (e *Encoder) Option(present bool) {
	if present {
		e.U8(1)
	} else {
		e.U8(0)
	}
}
