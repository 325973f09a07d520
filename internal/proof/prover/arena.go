package prover

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
)

// arena is memory that is reused from one proof to the next: the first pass over fresh pages takes several times as
// long as later ones.
type arena struct {
	elements slab[field.Element]
	digests  slab[merkle.Digest]
}

func (a *arena) reset() {
	a.elements.reset()
	a.digests.reset()
}

// slab hands out pieces of one slice. If the slice is too small, a piece is allocated separately, and the slab grows at
// the next reset.
type slab[T any] struct {
	buffer []T
	used   int // number of values taken since the last reset, including those beyond buffer
}

func (s *slab[T]) reset() {
	if s.used > len(s.buffer) {
		s.buffer = nil // free it before the larger one is allocated
		s.buffer = make([]T, s.used)
	}
	s.used = 0
}

// take returns n values with undefined contents.
func (s *slab[T]) take(n int) []T {
	from := s.used
	s.used += n
	if s.used > len(s.buffer) {
		return make([]T, n)
	}
	return s.buffer[from:s.used:s.used]
}

// vectors returns n vectors with undefined contents, each of the given length.
func (a *arena) vectors(n, length int) []field.Vector {
	v := make([]field.Vector, n)
	for k := range v {
		v[k] = a.elements.take(length + field.Gap)[:length]
	}
	return v
}

// touch writes to all of the memory, so that its pages are mapped.
func (a *arena) touch() {
	clear(a.elements.buffer)
	clear(a.digests.buffer)
}
