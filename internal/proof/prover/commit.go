package prover

import (
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
)

// grid is the domain of one proof with its tables.
type grid struct {
	fri.Domain
	rows, points int            // n and n·B
	transform    *field.Domain  // of n points
	double       *field.Domain  // of 2n points
	cosets       []field.Vector // for each of the B cosets s·⟨w⟩, the powers of s in bit-reversed order
	unshift      field.Vector   // the powers of 1/s for the first coset, in bit-reversed order
	powers       field.Vector   // w^i, w the generator of the rows
}

func newGrid(p fri.Parameters, logRows int) *grid {
	g := &grid{
		Domain:    p.Domain(logRows),
		rows:      1 << logRows,
		transform: field.NewDomain(logRows),
		double:    field.NewDomain(logRows + 1),
	}
	g.points = g.rows << p.LogBlowup
	powers := func(x field.Element) field.Vector {
		v := make(field.Vector, g.rows)
		field.Powers(v, field.New(1), x)
		return v
	}
	for j := range 1 << p.LogBlowup {
		g.cosets = append(g.cosets, powers(g.shift(j)))
		field.BitReverse(g.cosets[j])
	}
	inverse := g.shift(0)
	g.unshift = powers(*inverse.Inverse(&inverse))
	field.BitReverse(g.unshift)
	g.powers = powers(field.RootOfUnity(logRows))
	return g
}

// gridFor returns the grid for the parameters. A prover keeps those that it made: with tables they take 96 bytes a row.
func (p *Prover) gridFor(parameters fri.Parameters, logRows int) *grid {
	domain := parameters.Domain(logRows)
	g, ok := p.grids[domain]
	if !ok {
		g = newGrid(parameters, logRows)
		p.grids[domain] = g
	}
	return g
}

// shift returns the s of coset j: its points are s·w^i.
func (g *grid) shift(j int) field.Element { return g.At(j << g.Log) }

// coset returns the part of values on the domain that is of coset j.
func (g *grid) coset(v field.Vector, j int) field.Vector { return v[j*g.rows : (j+1)*g.rows] }

// extend sets dst to the values on the domain of the polynomial whose coefficients are given in bit-reversed order.
func (g *grid) extend(dst, coefficients field.Vector) {
	for j := range g.cosets {
		part := g.coset(dst, j)
		part.Mul(coefficients, g.cosets[j])
		g.transform.Evaluate(part)
	}
}

// extendAll returns the values on the domain of columns given on the rows.
func (g *grid) extendAll(columns []field.Vector, a *arena, parallel fri.Parallel) []field.Vector {
	out := a.vectors(len(columns), g.points)
	parallel(len(columns), func(k int) {
		if isZero(columns[k]) { // as are those of paths' elements that no position is deep enough for
			clear(out[k])
			return
		}
		last := g.coset(out[k], len(g.cosets)-1) // room for the coefficients, until their turn comes to be overwritten
		copy(last, columns[k])
		g.transform.Interpolate(last)
		g.extend(out[k], last)
	})
	return out
}

func isZero(v field.Vector) bool {
	return !slices.ContainsFunc(v, func(x field.Element) bool { return !x.IsZero() })
}

// leafBlock is how many rows one call hashes.
const leafBlock = 1 << 11

// commitRows returns the tree whose leaf at each index of the domain is the columns' values there.
func commitRows(columns []field.Vector, a *arena, parallel fri.Parallel) *merkle.Tree {
	points := len(columns[0])
	nodes := a.digests.take(2 * points)
	leaves, rows := nodes[points:], min(leafBlock, points)
	parallel(points/rows, func(block int) {
		from := block * rows
		merkle.Leaves(leaves[from:from+rows], columns, from)
	})
	return merkle.New(nodes, parallel)
}

// appendRows appends the columns' values at indices, row by row, and what shows that they are in the tree.
func appendRows(b []byte, columns []field.Vector, tree *merkle.Tree, indices []int) []byte {
	for _, index := range indices {
		for k := range columns {
			b = field.Append(b, &columns[k][index])
		}
	}
	return tree.AppendOpening(b, indices)
}
