package tree

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

func TestWitnessEncoding(t *testing.T) {
	for n := range 40 {
		b := newBlock(t, n, n)
		encoded := b.witness.Encode()
		decoded, err := DecodeWitness(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(decoded.Encode(), encoded) || len(decoded.Shapes) != len(b.witness.Shapes) {
			t.Fatalf("%d accounts: the witness comes back as another", n)
		}
		if root, err := b.verify(decoded); err != nil || root != b.new {
			t.Fatalf("%d accounts: root %s, %v; want %s", n, root, err, b.new)
		}
	}
}

func TestDecodeWitnessErrors(t *testing.T) {
	w := newBlock(t, 9, 1).witness
	good := w.Encode()
	corrupted := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	digests := 8 + len(w.Shapes) + 8
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":               {nil, codec.ErrTruncated},
		"cut":                   {good[:len(good)-1], codec.ErrTruncated},
		"too long":              {append(bytes.Clone(good), 0), codec.ErrTrailing},
		"more shapes than fit":  {corrupted(func(b []byte) { b[7] = 1 }), codec.ErrTooLong},
		"more digests than fit": {corrupted(func(b []byte) { b[digests-8]++ }), codec.ErrTruncated},
		"an unknown shape":      {corrupted(func(b []byte) { b[8] = byte(ShapeNode) + 1 }), ErrWitness},
		"not canonical":         {corrupted(func(b []byte) { b[digests] = 0xff }), poseidon.ErrNotCanonical},
	} {
		if _, err := DecodeWitness(c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func FuzzDecodeWitness(f *testing.F) {
	f.Add(newBlock(f, 5, 1).witness.Encode())
	f.Add(Witness{}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := DecodeWitness(b)
		if err != nil {
			return
		}
		if !bytes.Equal(w.Encode(), b) {
			t.Error("a witness has two encodings")
		}
		again, err := DecodeWitness(w.Encode())
		if err != nil || !reflect.DeepEqual(again, w) {
			t.Errorf("it comes back as another: error %v", err)
		}
	})
}
