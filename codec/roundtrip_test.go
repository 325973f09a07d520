package codec_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"pgregory.net/rapid"
)

// The kinds of reads in the programs of the tests below.
const (
	readU8 = iota
	readU16
	readU32
	readU64
	readFixed
	readBytes
	readString
	readOption
	readVariant
	readVariant8
	readLength
	reads
)

// limit bounds the lengths that a program accepts; generated lengths are often close to it.
const limit = 6

// copyValue reads a value, writes it again and returns it.
func copyValue(d *codec.Decoder, e *codec.Encoder, read byte) any {
	switch read % reads {
	case readU8:
		v := d.U8()
		e.U8(v)
		return v
	case readU16:
		v := d.U16()
		e.U16(v)
		return v
	case readU32:
		v := d.U32()
		e.U32(v)
		return v
	case readU64:
		v := d.U64()
		e.U64(v)
		return v
	case readFixed:
		v := make([]byte, 5)
		d.Fixed(v)
		e.Fixed(v)
		return string(v)
	case readBytes:
		v := d.Bytes(limit)
		e.Bytes(v)
		return string(v)
	case readString:
		v := d.String(limit)
		e.String(v)
		return v
	case readOption:
		v := d.Option()
		e.Option(v)
		return v
	case readVariant:
		v := d.Variant(4)
		e.U32(v)
		return v
	case readVariant8:
		v := d.Variant8(4)
		e.U8(v)
		return v
	default:
		v := d.Length(limit, 0)
		e.U64(uint64(v))
		return v
	}
}

// write draws a value for a read and encodes it.
func write(t *rapid.T, e *codec.Encoder, read byte) any {
	switch read % reads {
	case readU8:
		v := rapid.Byte().Draw(t, "u8")
		e.U8(v)
		return v
	case readU16:
		v := rapid.Uint16().Draw(t, "u16")
		e.U16(v)
		return v
	case readU32:
		v := rapid.Uint32().Draw(t, "u32")
		e.U32(v)
		return v
	case readU64:
		v := rapid.Uint64().Draw(t, "u64")
		e.U64(v)
		return v
	case readFixed:
		v := rapid.SliceOfN(rapid.Byte(), 5, 5).Draw(t, "fixed")
		e.Fixed(v)
		return string(v)
	case readBytes:
		v := rapid.SliceOfN(rapid.Byte(), 0, limit).Draw(t, "bytes")
		e.Bytes(v)
		return string(v)
	case readString:
		v := rapid.StringN(0, limit, limit).Draw(t, "string")
		e.String(v)
		return v
	case readOption:
		v := rapid.Bool().Draw(t, "option")
		e.Option(v)
		return v
	case readVariant:
		v := rapid.Uint32Range(0, 3).Draw(t, "variant")
		e.U32(v)
		return v
	case readVariant8:
		v := rapid.ByteRange(0, 3).Draw(t, "variant8")
		e.U8(v)
		return v
	default:
		v := rapid.IntRange(0, limit).Draw(t, "length")
		e.U64(uint64(v))
		return v
	}
}

// Encoded values decode to the same values, and encode to the same bytes again.
func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		program := rapid.SliceOfN(rapid.ByteMax(reads-1), 0, 12).Draw(t, "program")
		written := codec.NewEncoder(0)
		var want []any
		for _, read := range program {
			want = append(want, write(t, written, read))
		}
		d, again := codec.NewDecoder(written.Data()), codec.NewEncoder(0)
		var got []any
		for _, read := range program {
			got = append(got, copyValue(d, again, read))
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if !bytes.Equal(again.Data(), written.Data()) {
			t.Fatalf("%x encodes again to %x", written.Data(), again.Data())
		}
	})
}

// Any input that a decoder accepts is the encoding of the decoded value.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{readU8, readU16, readU32, readU64}, bytes.Repeat([]byte{1}, 15))
	f.Add([]byte{readFixed, readOption, readVariant8}, []byte{1, 2, 3, 4, 5, 1, 3})
	f.Add([]byte{readVariant, readLength}, []byte{3, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{readBytes, readString}, []byte{1, 0, 0, 0, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0xa9})
	f.Fuzz(func(t *testing.T, program, input []byte) {
		d, e := codec.NewDecoder(input), codec.NewEncoder(0)
		for _, read := range program {
			copyValue(d, e, read)
			if d.Err() == nil && !bytes.Equal(e.Data(), input[:d.Offset()]) {
				t.Fatalf("the first %d bytes of %x encode again to %x", d.Offset(), input, e.Data())
			}
		}
		if d.Finish() == nil && !bytes.Equal(e.Data(), input) {
			t.Fatalf("%x encodes again to %x", input, e.Data())
		}
	})
}
