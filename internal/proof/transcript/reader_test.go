package transcript

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

func TestReader(t *testing.T) {
	x := field.FromCoordinates([field.Degree]field.Element{
		field.New(1), field.New(2), field.New(3), field.New(4), field.New(5), field.New(field.P - 1),
	})
	b := field.AppendExt([]byte{7, 8, 1, 0, 0, 0, 0, 0, 0, 2}, &x)
	b = append(b, make([]byte, 32)...)
	b[len(b)-1] = 9
	read := func(b []byte) error {
		r := NewReader(b)
		first, err := r.Bytes(2)
		if err != nil {
			return err
		}
		number, err := r.Uint64()
		if err != nil {
			return err
		}
		v, err := r.Ext(1)
		if err != nil {
			return err
		}
		d, err := r.Digest()
		if err != nil {
			return err
		}
		if first[1] != 8 || number != 2<<56|1 || !v[0].Equal(&x) || d[31] != 9 {
			t.Errorf("read %v, %x, %v, %x", first, number, v, d)
		}
		return r.End()
	}
	if err := read(b); err != nil {
		t.Error(err)
	}
	for n := range b {
		if err := read(b[:n]); !errors.Is(err, ErrShort) {
			t.Errorf("%d of %d bytes: error %v, want %v", n, len(b), err, ErrShort)
		}
	}
	if err := read(append(b, 0)); !errors.Is(err, ErrLong) {
		t.Errorf("one byte more: error %v, want %v", err, ErrLong)
	}
	b[10+field.ExtSize-4]++ // the last coordinate becomes p
	if err := read(b); !errors.Is(err, field.ErrCanonical) {
		t.Errorf("p: error %v, want %v", err, field.ErrCanonical)
	}
}
