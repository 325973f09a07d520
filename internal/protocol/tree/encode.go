package tree

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// ErrWitness is returned for an invalid witness.
var ErrWitness = errors.New("tree: the witness is invalid")

// Encode returns bincode { shapes: Vec<u8>, digests: Vec<[u8; 32]> }.
func (w Witness) Encode() []byte {
	e := codec.NewEncoder(16 + len(w.Shapes) + 32*len(w.Digests))
	e.U64(uint64(len(w.Shapes)))
	for _, s := range w.Shapes {
		e.U8(uint8(s))
	}
	e.U64(uint64(len(w.Digests)))
	for i := range w.Digests {
		digest := w.Digests[i].Bytes()
		e.Fixed(digest[:])
	}
	return e.Data()
}

// DecodeWitness decodes the output of Encode and nothing else. It returns ErrWitness for an unknown shape,
// poseidon.ErrNotCanonical for an element that is not below the modulus, and otherwise codec's errors. It allocates at
// most about the size of b. It does not check that shapes and digests fit together.
func DecodeWitness(b []byte) (Witness, error) {
	d := codec.NewDecoder(b)
	var w Witness
	w.Shapes = make([]Shape, d.Length(len(b), 1))
	for i := range w.Shapes {
		if w.Shapes[i] = Shape(d.U8()); w.Shapes[i] > ShapeNode {
			d.Fail(fmt.Errorf("%w: shape %d", ErrWitness, w.Shapes[i]))
		}
	}
	w.Digests = make([]poseidon.Digest, d.Length(len(b), 32))
	for i := range w.Digests {
		var digest [32]byte
		d.Fixed(digest[:])
		var err error
		if w.Digests[i], err = poseidon.ParseDigest(digest); err != nil {
			d.Fail(fmt.Errorf("digest %d of the witness: %w", i, err))
		}
	}
	if err := d.Finish(); err != nil {
		return Witness{}, err
	}
	return w, nil
}
