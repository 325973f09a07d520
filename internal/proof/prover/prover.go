// Package prover makes proofs. It proves any trace that it is given, even a false one: the verifier refuses the result,
// and the node verifies each proof before it serves it.
package prover

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

// Prover makes proofs of one circuit, one at a time. It reuses its memory.
type Prover struct {
	circuit     *air.Circuit
	shape       stark.Shape
	constraints *program
	buses       *program
	arena       arena
	grids       map[fri.Domain]*grid
	mostKept    int // the constant mostKept, except in tests
}

// New returns a prover for the circuit.
func New(c *air.Circuit) *Prover {
	return &Prover{
		circuit:     c,
		shape:       stark.ShapeOf(c),
		constraints: compileConstraints(c),
		buses:       compileBuses(c),
		grids:       make(map[fri.Domain]*grid),
		mostKept:    mostKept,
	}
}

// Reserve allocates the memory for traces of 2^logRows rows at a level, so that no proof has to wait for it. Each of
// the trace's cells takes 4 bytes times the level's blowup, or 8 bytes if the domain has more than 2^19 points. Helper
// columns count six times. In addition, each point takes about 220 bytes.
func (p *Prover) Reserve(logRows, level int) {
	p.fit(p.gridFor(stark.Levels[level].Parameters, logRows))
	p.arena.touch()
}

// fit makes the whole arena free, and large enough for proofs on the grid.
func (p *Prover) fit(g *grid) {
	aux := field.Degree * p.shape.Aux
	functions, kept := p.shape.Columns+aux+field.Degree*stark.Chunks, len(g.cosets)
	if !g.keepsAll {
		kept = stark.Chunks
	}
	vectors := functions*kept + aux + field.Degree*(stark.Chunks+2) + 16
	p.arena.elements.used = (g.rows+field.Gap)*vectors + field.Degree*(g.points+field.Gap)
	p.arena.digests.used = 6 * g.points
	p.arena.reset()
}

// Prove returns a proof of the statement at stark.Levels[level]. The trace must have a column for each column of the
// circuit, all with the same power of two of rows. It is not modified. parallel runs f(i) for each i below n in any
// order; the proof does not depend on the order.
func (p *Prover) Prove(s *stark.Statement, level int, columns []field.Vector, parallel fri.Parallel) ([]byte, error) {
	logRows, err := p.check(s, columns)
	if err != nil {
		return nil, err
	}
	proof := stark.Header{Level: level, LogRows: logRows}.Append(nil)
	return p.prove(s, stark.Levels[level].Parameters, columns, proof, parallel)
}

// check returns the logarithm of the trace's number of rows.
func (p *Prover) check(s *stark.Statement, columns []field.Vector) (logRows int, err error) {
	if s.Circuit != p.circuit || len(columns) != p.shape.Columns || len(columns) == 0 {
		return 0, fmt.Errorf("%w: %d columns, or another circuit", stark.ErrShape, len(columns))
	}
	rows := len(columns[0])
	for k := range columns {
		if len(columns[k]) != rows {
			return 0, fmt.Errorf("%w: column %d has %d rows, the first %d", stark.ErrShape, k, len(columns[k]), rows)
		}
	}
	logRows = bits.TrailingZeros(uint(rows))
	if rows != 1<<logRows || logRows < stark.MinLogRows || logRows > stark.MaxLogRows {
		return 0, fmt.Errorf("%w: %d rows", stark.ErrShape, rows)
	}
	return logRows, s.Check()
}

// making is a proof in progress.
type making struct {
	*Prover
	statement  *stark.Statement
	parameters fri.Parameters
	grid       *grid
	transcript *transcript.Transcript
	parallel   fri.Parallel
	proof      []byte

	columns, aux, chunks oracle
	challenges           *air.Challenges
}

func (p *Prover) prove(
	s *stark.Statement, parameters fri.Parameters, columns []field.Vector, proof []byte, parallel fri.Parallel,
) ([]byte, error) {
	logRows := bits.TrailingZeros(uint(len(columns[0])))
	grid := p.gridFor(parameters, logRows)
	p.fit(grid)
	r := &making{
		Prover:     p,
		statement:  s,
		parameters: parameters,
		grid:       grid,
		transcript: s.Transcript(parameters, logRows),
		parallel:   parallel,
		proof:      proof,
	}
	r.columns = r.commitColumns(columns)
	alpha := r.transcript.Ext()
	beta := r.transcript.Ext()
	var err error
	if r.challenges, err = p.circuit.NewChallenges(alpha, beta, s.Terms, logRows); err != nil {
		return nil, err
	}
	if p.shape.Aux > 0 {
		r.aux = r.commitColumns(r.helpers(columns))
	}
	composition := r.transcript.Ext()
	r.chunks = r.quotient(composition)

	z := r.transcript.Ext()
	inverses := r.inverses(z)
	values := r.open(z, inverses)
	r.transcript.AbsorbExt(values)
	for i := range values {
		r.proof = field.AppendExt(r.proof, &values[i])
	}
	batched := r.batch(values, inverses, r.transcript.Ext())
	return r.answer(batched), nil
}

// answer runs the low-degree test on the batched function and opens the rows at its queries.
func (r *making) answer(batched *field.Planar) []byte {
	layers, proof := r.parameters.Commit(r.grid.Log, batched, r.proof, r.transcript, r.parallel)
	proof = binary.LittleEndian.AppendUint64(proof, r.transcript.Seal(r.parameters.Grinding, r.parallel))
	indices := r.parameters.Indices(r.grid.Log, r.transcript)
	all := []*oracle{&r.columns, &r.aux, &r.chunks}
	oracles := slices.DeleteFunc(all, func(o *oracle) bool { return o.functions() == 0 })
	computed := r.computed(oracles, indices)
	for i, o := range oracles {
		proof = r.appendRows(proof, o, indices, computed[i])
	}
	return layers.AppendOpenings(proof, indices)
}
