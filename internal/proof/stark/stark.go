// Package stark is what prover and verifier of a circuit must agree on to the byte. That is the levels of security, the
// shape of a proof and what its transcript begins with. docs/proofs.md describes the proof system; it is DEEP-ALI
// (Ben-Sasson, Goldberg, Kopparty, Saraf, ITCS 2020) over FRI, with buses by logarithmic derivatives.
package stark

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

const (
	// Version is the first byte of a proof.
	Version = 1
	// MinLogRows and MaxLogRows bound the logarithm of a trace's number of rows.
	MinLogRows, MaxLogRows = 3, 18
	// Chunks is how many polynomials of fewer coefficients than rows the quotient is split into; a constraint's degree
	// is therefore at most Chunks + 1.
	Chunks = 2
	// HeaderSize is the length in bytes of a proof's header.
	HeaderSize = 3
	// domain names the proof system in transcripts.
	domain = "cairn/stark/v1"
)

// Level is a choice of parameters that verifiers accept.
type Level struct {
	Bits int // proven, for any circuit that internal/proof/security gives that many
	// Most is the logarithm of the most rows that verifiers accept it for.
	Most int
	// Chosen is up to how many rows, as a logarithm, provers choose it, never if it is 0. Proofs of a larger blowup are
	// smaller, and take memory and time by rows × blowup.
	Chosen int
	fri.Parameters
}

// Levels are all, by the number that stands in a proof's header. None is taken away: proofs of it are kept by nodes.
var Levels = [...]Level{
	{100, 18, 18, fri.Parameters{LogBlowup: 2, LogFinal: 9, Grinding: 20, Queries: 82}},
	{128, 17, 0, fri.Parameters{LogBlowup: 2, LogFinal: 9, Grinding: 20, Queries: 110}},
	{128, 18, 18, fri.Parameters{LogBlowup: 3, LogFinal: 9, Grinding: 20, Queries: 74}},
	{128, 17, 0, fri.Parameters{LogBlowup: 4, LogFinal: 9, Grinding: 20, Queries: 56}},
	{128, 16, 16, fri.Parameters{LogBlowup: 3, LogFinal: 9, Grinding: 20, Queries: 73}},
	{128, 16, 13, fri.Parameters{LogBlowup: 4, LogFinal: 9, Grinding: 20, Queries: 55}},
}

// MaxBits is the most that a level has.
const MaxBits = 128

// LevelOf is the level that provers choose for so many bits and rows. It is that of the smallest proof, for tables of
// 32 rows and more, as far as what it takes is bounded. There is none, −1, if no level has just so many bits.
func LevelOf(bits, logRows int) int {
	for level := len(Levels) - 1; level >= 0; level-- {
		if Levels[level].Bits == bits && logRows <= Levels[level].Chosen {
			return level
		}
	}
	return -1
}

// QuickLevelOf is the level of the proof that takes the least time, for tables of at most 2^MaxQuickLogRows rows.
func QuickLevelOf(bits int) int {
	for level := range Levels {
		if Levels[level].Bits == bits {
			return level
		}
	}
	return -1
}

// MaxQuickLogRows is the logarithm of the most rows for which there is a quick level.
const MaxQuickLogRows = 17

var (
	// ErrShape says that a statement is not of its circuit's shape, or a circuit not of those that can be proven.
	ErrShape = errors.New("statement does not fit the circuit")
	// ErrHeader says that a proof begins with what no verifier accepts.
	ErrHeader = errors.New("proof has an unknown version, level or number of rows")
)

// Header is what a proof says about itself; each value must be on a list.
type Header struct {
	Level   int // index in Levels
	LogRows int
}

// Append appends the header: Version, the level and the logarithm of the number of rows, a byte each.
func (h Header) Append(b []byte) []byte { return append(b, Version, byte(h.Level), byte(h.LogRows)) }

// ReadHeader reads a header, and fails with ErrHeader if a value is not on its list.
func ReadHeader(r *transcript.Reader) (h Header, err error) {
	b, err := r.Bytes(HeaderSize)
	if err != nil {
		return h, err
	}
	h = Header{int(b[1]), int(b[2])}
	if b[0] != Version || h.Level >= len(Levels) || h.LogRows < MinLogRows || h.LogRows > Levels[h.Level].Most {
		return h, ErrHeader
	}
	return h, nil
}

// Statement is what is proven: that there is a trace which satisfies the circuit with these public inputs and this
// public side of its buses.
type Statement struct {
	Circuit *air.Circuit
	Context []byte // what else the proof is bound to
	Public  []field.Element
	Terms   []air.Term
}

// Check fails with ErrShape if the statement cannot be of its circuit.
func (s *Statement) Check() error {
	if got, want := len(s.Public), s.Circuit.PublicInputs(); got != want {
		return fmt.Errorf("%w: %d public inputs, want %d", ErrShape, got, want)
	}
	if degree := s.Circuit.Degree(); degree > Chunks+1 {
		return fmt.Errorf("%w: degree %d, at most %d", ErrShape, degree, Chunks+1)
	}
	for i, term := range s.Terms {
		if got, most := len(term.Tuple), s.Circuit.Arity(); got > most {
			return fmt.Errorf("%w: public entry %d has %d values, at most %d", ErrShape, i, got, most)
		}
	}
	return nil
}

// Transcript returns the transcript after everything that is known before the proof. That is the circuit's digest;
// parameters, the logarithm of the number of rows and that of chunks; context; public inputs; and the public side. An
// entry of that is its bus as four bytes little-endian, its multiplicity, its number of values likewise and its values.
func (s *Statement) Transcript(p fri.Parameters, logRows int) *transcript.Transcript {
	t := transcript.New(domain)
	digest := s.Circuit.Digest()
	t.Absorb(digest[:])
	b := p.Append(nil)
	b = binary.LittleEndian.AppendUint32(b, uint32(logRows))
	t.Absorb(binary.LittleEndian.AppendUint32(b, Chunks))
	t.Absorb(s.Context)
	b = nil
	for i := range s.Public {
		b = field.Append(b, &s.Public[i])
	}
	t.Absorb(b)
	t.Absorb(encodeTerms(s.Terms))
	return t
}

func encodeTerms(terms []air.Term) []byte {
	n := 0
	for i := range terms {
		n += len(terms[i].Tuple)
	}
	elements, words := make(field.Vector, 0, n), make([]uint32, n)
	for i := range terms {
		elements = append(elements, terms[i].Tuple...)
	}
	field.Canonical(words, elements)
	b := make([]byte, 0, 12*len(terms)+field.Size*n)
	for i := range terms {
		b = binary.LittleEndian.AppendUint32(b, uint32(terms[i].Bus.ID()))
		b = field.Append(b, &terms[i].Multiplicity)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(terms[i].Tuple)))
		for range terms[i].Tuple {
			b, words = binary.LittleEndian.AppendUint32(b, words[0]), words[1:]
		}
	}
	return b
}

// Shape is which functions are opened, and where: every column at z, and at z·w, w the generator of the rows, the
// columns whose next row the circuit names. Both transcript and proof have the values in this order: columns, helper
// columns and chunks at z, then columns and helper columns at z·w.
type Shape struct {
	Columns, Aux  int   // of the circuit; those of Aux are over E
	Next, AuxNext []int // which of them are opened at z·w, ascending
}

// ShapeOf returns the circuit's.
func ShapeOf(c *air.Circuit) Shape {
	s := Shape{Columns: len(c.Columns()), Aux: c.AuxColumns()}
	next, auxNext := make([]bool, s.Columns), make([]bool, s.Aux)
	for _, n := range c.Nodes() {
		switch n.Op {
		case air.OpNext:
			next[n.A] = true
		case air.OpAuxNext:
			auxNext[n.A] = true
		}
	}
	indices := func(set []bool) (out []int) {
		for i, in := range set {
			if in {
				out = append(out, i)
			}
		}
		return out
	}
	s.Next, s.AuxNext = indices(next), indices(auxNext)
	return s
}

// AtPoint is how many functions are opened at z.
func (s *Shape) AtPoint() int { return s.Columns + s.Aux + Chunks }

// AtNext is how many functions are opened at z·w.
func (s *Shape) AtNext() int { return len(s.Next) + len(s.AuxNext) }

// Opened are the values of the functions at z and z·w.
type Opened struct {
	Columns, Aux, Chunks []field.Ext // at z
	Next, AuxNext        []field.Ext // at z·w, of the columns that Shape lists
}

// Split returns the parts of values, AtPoint + AtNext in the order of Shape, sharing its array.
func (s *Shape) Split(values []field.Ext) (o Opened) {
	for _, part := range []struct {
		to *[]field.Ext
		n  int
	}{
		{&o.Columns, s.Columns}, {&o.Aux, s.Aux}, {&o.Chunks, Chunks}, {&o.Next, len(s.Next)}, {&o.AuxNext, len(s.AuxNext)},
	} {
		*part.to, values = values[:part.n], values[part.n:]
	}
	return o
}

// Powers returns 1, x, …, x^(n−1).
func Powers(x field.Ext, n int) []field.Ext {
	v, power := make([]field.Ext, n), field.One()
	for i := range v {
		v[i] = power
		power.Mul(&power, &x)
	}
	return v
}

// InnerProduct returns Σ a_i·b_i over all of b; a may be longer.
func InnerProduct(a, b []field.Ext) (sum field.Ext) {
	var product field.Ext
	for i := range b {
		product.Mul(&a[i], &b[i])
		sum.Add(&sum, &product)
	}
	return sum
}
