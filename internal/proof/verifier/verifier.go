// Package verifier checks proofs. It depends only on circuits, not on their meaning, and needs neither the state nor a
// node. Its work for any proof is bounded, in one pass over the bytes.
package verifier

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

var (
	// ErrLevel is returned for a proof with fewer bits than required.
	ErrLevel = errors.New("proof has too few bits of security")
	// ErrConstraints is returned if the constraints do not hold at the point drawn.
	ErrConstraints = errors.New("constraints do not hold")
	// ErrPoint is returned if the point drawn is in F_p, where the functions are committed to. This happens with
	// probability 2^−155.
	ErrPoint = errors.New("point drawn is in the base field")
	// ErrGrinding is returned if the nonce shows too little work.
	ErrGrinding = errors.New("nonce shows too little work")
)

// Verify checks that proof proves the statement with at least atLeast bits, and returns its number of bits.
func Verify(s *stark.Statement, atLeast int, proof []byte) (bits int, err error) {
	r := transcript.NewReader(proof)
	header, err := stark.ReadHeader(r)
	if err != nil {
		return 0, err
	}
	level := stark.Levels[header.Level]
	if level.Bits < atLeast {
		return 0, fmt.Errorf("%w: %d", ErrLevel, level.Bits)
	}
	if err := verify(s, level.Parameters, header.LogRows, r); err != nil {
		return 0, err
	}
	return level.Bits, nil
}

// Screen refuses, within a few nanoseconds, proofs that [Verify] would refuse because of the header or because they are
// shorter than any proof with that header. The shortest proof has the roots, the values at the points, the roots and
// final polynomial of the low-degree test, the nonce, and one row of each table.
func Screen(c *air.Circuit, atLeast int, proof []byte) error {
	header, err := stark.ReadHeader(transcript.NewReader(proof))
	if err != nil {
		return err
	}
	level := stark.Levels[header.Level]
	if level.Bits < atLeast {
		return fmt.Errorf("%w: %d", ErrLevel, level.Bits)
	}
	shape := stark.ShapeOf(c)
	row := field.Size * (shape.Columns + field.Degree*(shape.Aux+stark.Chunks))
	least := stark.HeaderSize + 2*len(merkle.Digest{}) + field.ExtSize*(shape.AtPoint()+shape.AtNext()) +
		level.CommitmentSize(header.LogRows) + 8 + row
	if len(proof) < least {
		return fmt.Errorf("%w: %d bytes, at least %d", transcript.ErrShort, len(proof), least)
	}
	return nil
}

// MostBytes returns the maximum length of a proof in bytes.
func MostBytes(c *air.Circuit) (most int) {
	shape := stark.ShapeOf(c)
	row := field.Size * (shape.Columns + field.Degree*(shape.Aux+stark.Chunks))
	for _, level := range stark.Levels {
		for logRows := stark.MinLogRows; logRows <= level.Most; logRows++ {
			siblings := merkle.MostSiblings(level.Queries, logRows+level.LogBlowup)
			size := stark.HeaderSize + 3*len(merkle.Digest{}) + field.ExtSize*(shape.AtPoint()+shape.AtNext()) +
				level.CommitmentSize(logRows) + 8 + level.Queries*row + 3*siblings*len(merkle.Digest{}) + level.MostOpened(logRows)
			most = max(most, size)
		}
	}
	return most
}

// argument is a proof that is being read.
type argument struct {
	statement  *stark.Statement
	shape      stark.Shape
	parameters fri.Parameters
	logRows    int
	reader     *transcript.Reader
	transcript *transcript.Transcript

	columns, aux, chunks merkle.Digest // roots
	z                    field.Ext
	values               []field.Ext // at z and z·w
	weights              []field.Ext // weights of the functions in the batch
}

// verify checks the rest of a proof after the header.
func verify(s *stark.Statement, p fri.Parameters, logRows int, r *transcript.Reader) error {
	if err := s.Check(); err != nil {
		return err
	}
	a := &argument{
		statement:  s,
		shape:      stark.ShapeOf(s.Circuit),
		parameters: p,
		logRows:    logRows,
		reader:     r,
		transcript: s.Transcript(p, logRows),
	}
	if err := a.checkConstraints(); err != nil {
		return err
	}
	if err := a.checkDegree(); err != nil {
		return err
	}
	return r.End()
}

// root reads a root and absorbs it.
func (a *argument) root() (d merkle.Digest, err error) {
	if d, err = a.reader.Digest(); err == nil {
		a.transcript.Absorb(d[:])
	}
	return d, err
}

// checkConstraints reads the commitments and the values at z and z·w, and checks that the composition of the
// constraints at z equals the quotient times x^n − 1.
func (a *argument) checkConstraints() (err error) {
	if a.columns, err = a.root(); err != nil {
		return err
	}
	alpha := a.transcript.Ext()
	beta := a.transcript.Ext()
	challenges, err := a.statement.Circuit.NewChallenges(alpha, beta, a.statement.Terms, a.logRows)
	if err != nil {
		return err
	}
	if a.shape.Aux > 0 {
		if a.aux, err = a.root(); err != nil {
			return err
		}
	}
	composition := a.transcript.Ext()
	if a.chunks, err = a.root(); err != nil {
		return err
	}
	a.z = a.transcript.Ext()
	if base := field.Lift(a.z.B0.A0); base.Equal(&a.z) {
		return ErrPoint
	}
	if a.values, err = a.reader.Ext(a.shape.AtPoint() + a.shape.AtNext()); err != nil {
		return err
	}
	a.transcript.AbsorbExt(a.values)

	opened := a.shape.Split(a.values)
	zn := field.SquareTimes(&a.z, a.logRows)
	vanishing, one := zn, field.One()
	vanishing.Sub(&vanishing, &one)
	results := a.statement.Circuit.Evaluate(a.point(&opened, challenges, vanishing))
	left := stark.InnerProduct(stark.Powers(composition, len(results)), results)
	right := stark.InnerProduct([]field.Ext{one, zn}, opened.Chunks)
	if right.Mul(&right, &vanishing); !left.Equal(&right) {
		return ErrConstraints
	}
	return nil
}

// point returns the values at which the circuit is evaluated. The selector of row k is w^k·(x^n − 1)/(n·(x − w^k)).
func (a *argument) point(o *stark.Opened, c *air.Challenges, vanishing field.Ext) *air.Point {
	selector := func(root field.Element) field.Ext {
		e := field.Lift(root)
		e.Sub(&a.z, &e)
		scale := field.New(1 << a.logRows)
		e.MulByElement(&e, &scale)
		e.Inverse(&e)
		e.Mul(&e, &vanishing)
		e.MulByElement(&e, &root)
		return e
	}
	last := field.RootOfUnity(a.logRows)
	p := &air.Point{
		Columns:    o.Columns,
		Next:       make([]field.Ext, a.shape.Columns),
		Aux:        o.Aux,
		AuxNext:    make([]field.Ext, a.shape.Aux),
		Public:     a.statement.Public,
		Challenges: c,
		First:      selector(field.New(1)),
		Last:       selector(*last.Inverse(&last)),
	}
	for i, column := range a.shape.Next {
		p.Next[column] = o.Next[i]
	}
	for i, column := range a.shape.AuxNext {
		p.AuxNext[column] = o.AuxNext[i]
	}
	return p
}

// checkDegree reads the low-degree test and the rows that it queries, and checks that the committed functions are
// polynomials with the values that were read.
func (a *argument) checkDegree() error {
	a.weights = stark.Powers(a.transcript.Ext(), len(a.values))
	commitment, err := a.parameters.ReadCommitment(a.logRows, a.reader, a.transcript)
	if err != nil {
		return err
	}
	nonce, err := a.reader.Uint64()
	if err != nil {
		return err
	}
	if !a.transcript.Sealed(nonce, a.parameters.Grinding) {
		return ErrGrinding
	}
	indices := a.parameters.Indices(a.logRows, a.transcript)
	columns, err := a.rows(&a.columns, a.shape.Columns, indices)
	if err != nil {
		return err
	}
	var aux field.Vector
	if a.shape.Aux > 0 {
		if aux, err = a.rows(&a.aux, field.Degree*a.shape.Aux, indices); err != nil {
			return err
		}
	}
	chunks, err := a.rows(&a.chunks, field.Degree*stark.Chunks, indices)
	if err != nil {
		return err
	}
	return commitment.Verify(indices, a.batch(indices, columns, aux, chunks), a.reader)
}

// rows reads the rows of one commitment at indices, each of width elements, and checks their opening against root. It
// returns the concatenated rows.
func (a *argument) rows(root *merkle.Digest, width int, indices []int) (field.Vector, error) {
	encoded, err := a.reader.Bytes(field.Size * width * len(indices))
	if err != nil {
		return nil, err
	}
	rows, err := field.DecodeVector(encoded)
	if err != nil {
		return nil, err
	}
	return rows, merkle.Verify(root, a.logRows+a.parameters.LogBlowup, indices, encoded, a.reader.Digest)
}
