package prover

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
)

// arena is memory that is kept from one proof to the next: the first pass over fresh pages costs several times the
// next ones.
type arena struct {
	elements slab[field.Element]
	digests  slab[merkle.Digest]
}

func (a *arena) reset() {
	a.elements.reset()
	a.digests.reset()
}

// slab hands out pieces of one slice. What does not fit is allocated for this time, and the slab grows at the next
// reset.
type slab[T any] struct {
	buffer []T
	used   int // of this round, also beyond buffer
}

func (s *slab[T]) reset() {
	if s.used > len(s.buffer) {
		s.buffer = nil // before the larger one is there
		s.buffer = make([]T, s.used)
	}
	s.used = 0
}

// take returns n values of any content.
func (s *slab[T]) take(n int) []T {
	from := s.used
	s.used += n
	if s.used > len(s.buffer) {
		return make([]T, n)
	}
	return s.buffer[from:s.used:s.used]
}

// vectors returns n vectors of any content, each of the given length.
func (a *arena) vectors(n, length int) []field.Vector {
	v := make([]field.Vector, n)
	for k := range v {
		v[k] = a.elements.take(length + field.Gap)[:length]
	}
	return v
}

// touch writes to all of the memory, so that its pages are there.
func (a *arena) touch() {
	clear(a.elements.buffer)
	clear(a.digests.buffer)
}
