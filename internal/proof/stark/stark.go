// Package stark holds the definitions on which prover and verifier of a circuit must agree to the byte: the security
// levels, the shape of a proof and the beginning of its transcript. docs/proofs.md describes the proof system. It is
// DEEP-ALI (Ben-Sasson, Goldberg, Kopparty, Saraf, ITCS 2020) over FRI, with buses by logarithmic derivatives.
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
	// MinLogRows and MaxLogRows bound the logarithm of the number of rows of a trace.
	MinLogRows, MaxLogRows = 3, 18
	// Chunks is the number of polynomials, of fewer coefficients than rows, into which the quotient is split. A
	// constraint's degree is therefore at most Chunks + 1.
	Chunks = 2
	// HeaderSize is the length in bytes of a proof's header.
	HeaderSize = 3
	// domain is the name of the proof system in transcripts.
	domain = "cairn/stark/v1"
)

// Level is a choice of parameters that verifiers accept.
type Level struct {
	Bits int // proven bits, for any circuit that internal/proof/security gives that many
	// Most is the logarithm of the maximum number of rows for which verifiers accept it.
	Most int
	// Chosen is the logarithm of the maximum number of rows for which provers choose it; 0 means never. Proofs with a
	// larger blowup are smaller, and take memory and time proportional to rows × blowup.
	Chosen int
	fri.Parameters
}

// Levels holds all levels, by the number in a proof's header. None must be removed, as nodes keep proofs that use it.
var Levels = [...]Level{
	{100, 18, 18, fri.Parameters{LogBlowup: 2, LogFinal: 9, Grinding: 20, Queries: 82}},
	{128, 17, 0, fri.Parameters{LogBlowup: 2, LogFinal: 9, Grinding: 20, Queries: 110}},
	{128, 18, 18, fri.Parameters{LogBlowup: 3, LogFinal: 9, Grinding: 20, Queries: 74}},
	{128, 17, 0, fri.Parameters{LogBlowup: 4, LogFinal: 9, Grinding: 20, Queries: 56}},
	{128, 16, 16, fri.Parameters{LogBlowup: 3, LogFinal: 9, Grinding: 20, Queries: 73}},
	{128, 16, 13, fri.Parameters{LogBlowup: 4, LogFinal: 9, Grinding: 20, Queries: 55}},
}

// MaxBits is the maximum of a level's bits.
const MaxBits = 128

// LevelOf returns the level that provers choose for the given bits and rows, or −1 if there is no level with exactly
// these bits. It is the level of the smallest proof, for tables of at least 32 rows, within the bounds on memory and
// time.
func LevelOf(bits, logRows int) int {
	for level := len(Levels) - 1; level >= 0; level-- {
		if Levels[level].Bits == bits && logRows <= Levels[level].Chosen {
			return level
		}
	}
	return -1
}

// QuickLevelOf returns the level whose proof takes the least time, for tables of at most 2^MaxQuickLogRows rows.
func QuickLevelOf(bits int) int {
	for level := range Levels {
		if Levels[level].Bits == bits {
			return level
		}
	}
	return -1
}

// MaxQuickLogRows is the logarithm of the maximum number of rows for which there is a quick level.
const MaxQuickLogRows = 17

var (
	// ErrShape is returned if a statement does not have its circuit's shape, or if the circuit is not provable.
	ErrShape = errors.New("statement does not fit the circuit")
	// ErrHeader is returned for a proof whose header no verifier accepts.
	ErrHeader = errors.New("proof has an unknown version, level or number of rows")
)

// Header is the header of a proof. Each value must be an allowed one.
type Header struct {
	Level   int // index in Levels
	LogRows int
}

// Append appends the header: Version, the level and the logarithm of the number of rows, one byte each.
func (h Header) Append(b []byte) []byte { return append(b, Version, byte(h.Level), byte(h.LogRows)) }

// ReadHeader reads a header. It returns ErrHeader if a value is not allowed.
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

// Statement is the statement of a proof: there is a trace that satisfies the circuit with these public inputs and this
// public side of its buses.
type Statement struct {
	Circuit *air.Circuit
	Context []byte // other data that the proof is bound to
	Public  []field.Element
	Terms   []air.Term
}

// Check returns ErrShape if the statement does not fit its circuit.
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

// Transcript returns the transcript of everything that is known before the proof: the circuit's digest; the parameters,
// the logarithm of the number of rows, and the number of chunks; the context; the public inputs; and the public side.
// An entry of the public side is its bus as four bytes little-endian, its multiplicity, its number of values as four
// bytes little-endian, and its values.
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

// Shape lists the functions that are opened at each point: every column at z, and the columns whose next row the
// circuit reads at z·w, where w is the generator of the rows. Both transcript and proof have the values in this order:
// columns, helper columns and chunks at z, then columns and helper columns at z·w.
type Shape struct {
	Columns, Aux  int   // number in the circuit; Aux columns are over E
	Next, AuxNext []int // columns that are opened at z·w, ascending
}

// ShapeOf returns the circuit's shape.
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

// AtPoint returns the number of functions opened at z.
func (s *Shape) AtPoint() int { return s.Columns + s.Aux + Chunks }

// AtNext returns the number of functions opened at z·w.
func (s *Shape) AtNext() int { return len(s.Next) + len(s.AuxNext) }

// Opened holds the values of the functions at z and z·w.
type Opened struct {
	Columns, Aux, Chunks []field.Ext // at z
	Next, AuxNext        []field.Ext // at z·w, for the columns listed in Shape
}

// Split splits values, AtPoint + AtNext in the order of Shape, into parts that share its array.
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

// InnerProduct returns Σ a_i·b_i over all of b. a may be longer.
func InnerProduct(a, b []field.Ext) (sum field.Ext) {
	var product field.Ext
	for i := range b {
		product.Mul(&a[i], &b[i])
		sum.Add(&sum, &product)
	}
	return sum
}
