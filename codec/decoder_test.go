package codec_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/codec"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLayout(t *testing.T) {
	tests := []struct {
		name   string
		encode func(*codec.Encoder)
		want   string
	}{
		{"u8", func(e *codec.Encoder) { e.U8(0xfe) }, "fe"},
		{"u16 is little-endian", func(e *codec.Encoder) { e.U16(0x0102) }, "0201"},
		{"u32 is little-endian", func(e *codec.Encoder) { e.U32(0x01020304) }, "04030201"},
		{"u64 is little-endian", func(e *codec.Encoder) { e.U64(0x0102030405060708) }, "0807060504030201"},
		{"an array has no length", func(e *codec.Encoder) { e.Fixed([]byte{1, 2, 3}) }, "010203"},
		{"a byte vector has a u64 length", func(e *codec.Encoder) { e.Bytes([]byte{7, 8}) }, "0200000000000000 0708"},
		{"an empty byte vector", func(e *codec.Encoder) { e.Bytes(nil) }, "0000000000000000"},
		{"a string counts bytes, not runes", func(e *codec.Encoder) { e.String("é") }, "0200000000000000 c3a9"},
		{"none", func(e *codec.Encoder) { e.Option(false) }, "00"},
		{"some", func(e *codec.Encoder) { e.Option(true) }, "01"},
		{"one after the other", func(e *codec.Encoder) { e.U8(1); e.U16(2) }, "010200"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var e codec.Encoder
			test.encode(&e)
			if want := unhex(t, test.want); !bytes.Equal(e.Data(), want) || e.Len() != len(want) {
				t.Errorf("got %x of length %d, want %x", e.Data(), e.Len(), want)
			}
		})
	}
}

// Each rule of strict decoding, with an input that keeps it and one that breaks it.
func TestRules(t *testing.T) {
	tests := []struct {
		name      string
		decode    func(*codec.Decoder)
		good, bad string
		err       error
	}{
		{"u8 ends early", func(d *codec.Decoder) { d.U8() }, "00", "", codec.ErrTruncated},
		{"u16 ends early", func(d *codec.Decoder) { d.U16() }, "0000", "00", codec.ErrTruncated},
		{"u32 ends early", func(d *codec.Decoder) { d.U32() }, "00000000", "000000", codec.ErrTruncated},
		{"u64 ends early", func(d *codec.Decoder) { d.U64() }, "0000000000000000", "00000000000000", codec.ErrTruncated},
		{"array ends early", func(d *codec.Decoder) { d.Fixed(make([]byte, 3)) }, "010203", "0102", codec.ErrTruncated},
		{"bytes are left over", func(d *codec.Decoder) { d.U8() }, "00", "0000", codec.ErrTrailing},
		{"nothing is read", func(*codec.Decoder) {}, "", "00", codec.ErrTrailing},
		{"option byte 2", func(d *codec.Decoder) { d.Option() }, "01", "02", codec.ErrBadOption},
		{"option byte 255", func(d *codec.Decoder) { d.Option() }, "00", "ff", codec.ErrBadOption},
		{"variant is the count", func(d *codec.Decoder) { d.Variant(3) }, "02000000", "03000000", codec.ErrBadVariant},
		{"variant's high byte", func(d *codec.Decoder) { d.Variant(3) }, "02000000", "02000001", codec.ErrBadVariant},
		{"one-byte variant is the count", func(d *codec.Decoder) { d.Variant8(2) }, "01", "02", codec.ErrBadVariant},
		{
			"bytes over the limit", func(d *codec.Decoder) { d.Bytes(2) },
			"0200000000000000 0102", "0300000000000000 010203", codec.ErrTooLong,
		},
		{
			"bytes end early", func(d *codec.Decoder) { d.Bytes(9) },
			"0200000000000000 0102", "0300000000000000 0102", codec.ErrTruncated,
		},
		{
			"length's high byte", func(d *codec.Decoder) { d.Bytes(9) },
			"0100000000000000 01", "0100000000000001 01", codec.ErrTooLong,
		},
		{
			"string over the limit", func(d *codec.Decoder) { d.String(1) },
			"0100000000000000 61", "0200000000000000 6161", codec.ErrTooLong,
		},
		{
			"string has a stray byte", func(d *codec.Decoder) { d.String(9) },
			"0200000000000000 c3a9", "0200000000000000 c328", codec.ErrBadUTF8,
		},
		{
			"string has an overlong form", func(d *codec.Decoder) { d.String(9) },
			"0100000000000000 00", "0200000000000000 c080", codec.ErrBadUTF8,
		},
		{
			"string has a surrogate", func(d *codec.Decoder) { d.String(9) },
			"0300000000000000 ed9fbf", "0300000000000000 eda080", codec.ErrBadUTF8,
		},
		{
			"string is over U+10FFFF", func(d *codec.Decoder) { d.String(9) },
			"0400000000000000 f48fbfbf", "0400000000000000 f4908080", codec.ErrBadUTF8,
		},
		{
			"elements over the limit", func(d *codec.Decoder) { d.Length(1, 0) },
			"0100000000000000", "0200000000000000", codec.ErrTooLong,
		},
		{
			"elements cannot fit the input",
			func(d *codec.Decoder) { n := d.Length(9, 2); d.Fixed(make([]byte, 2*n)) },
			"0200000000000000 01020304", "0300000000000000 0102030405", codec.ErrTruncated,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			good := codec.NewDecoder(unhex(t, test.good))
			test.decode(good)
			if err := good.Finish(); err != nil {
				t.Errorf("%s: error %v", test.good, err)
			}
			bad := codec.NewDecoder(unhex(t, test.bad))
			test.decode(bad)
			if err := bad.Finish(); !errors.Is(err, test.err) {
				t.Errorf("%s: got %v, want %v", test.bad, err, test.err)
			}
		})
	}
}

func TestErrorSticks(t *testing.T) {
	d := codec.NewDecoder([]byte{9, 9, 9, 9})
	d.U8()
	own := errors.New("a rule of the caller's")
	d.Fail(own)
	d.Fail(errors.New("a later one"))
	fixed := []byte{5, 5}
	d.Fixed(fixed)
	if d.U8() != 0 || d.U16() != 0 || d.U32() != 0 || d.U64() != 0 || d.Option() || d.Variant(1) != 0 ||
		d.Variant8(1) != 0 {
		t.Error("a read after an error gives something")
	}
	if d.Length(9, 1) != 0 || d.Bytes(9) != nil || d.String(9) != "" || !bytes.Equal(fixed, []byte{5, 5}) {
		t.Error("a read after an error gives something")
	}
	if d.Offset() != 1 || d.Remaining() != 0 {
		t.Errorf("offset %d, remaining %d after an error at byte 1", d.Offset(), d.Remaining())
	}
	if err := d.Finish(); !errors.Is(err, own) || !errors.Is(d.Err(), own) || !strings.Contains(err.Error(), "at byte 1") {
		t.Errorf("got %v", err)
	}
}

// Length refuses a length that exceeds the input, because callers allocate that much.
func TestLengthChecksInput(t *testing.T) {
	for n, want := range map[byte]int{0: 0, 2: 2, 3: 0} {
		d := codec.NewDecoder([]byte{n, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5})
		if got := d.Length(9, 2); got != want || errors.Is(d.Err(), codec.ErrTruncated) != (n == 3) {
			t.Errorf("%d elements of 2 bytes in 5 bytes: got %d, %v", n, got, d.Err())
		}
	}
}

func TestPosition(t *testing.T) {
	d := codec.NewDecoder([]byte{1, 2, 3})
	d.U16()
	if d.Offset() != 2 || d.Remaining() != 1 || d.Err() != nil {
		t.Errorf("offset %d, remaining %d, error %v", d.Offset(), d.Remaining(), d.Err())
	}
}

// A result that aliases the input has no spare capacity, so appending to it cannot change the bytes after it.
func TestBytesAlias(t *testing.T) {
	input := unhex(t, "0100000000000000 aa bb")
	d := codec.NewDecoder(input)
	got := d.Bytes(9)
	if &got[0] != &input[8] {
		t.Error("bytes are a copy")
	}
	_ = append(got, 0xcc)
	if next := d.U8(); next != 0xbb {
		t.Errorf("appending changed the next byte to %x, want 0xbb", next)
	}
}

// A huge length in a short input is refused before anything is allocated for it.
func TestLengthAllocatesNothing(t *testing.T) {
	for _, n := range []uint64{1 << 40, math.MaxInt64, math.MaxUint64} {
		var e codec.Encoder
		e.U64(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := codec.NewDecoder(e.Data())
		got := d.Bytes(math.MaxInt)
		runtime.ReadMemStats(&after)
		if got != nil || d.Err() == nil {
			t.Errorf("length %d is accepted", n)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("length %d: %d bytes were allocated", n, used)
		}
	}
}
