package prover

import (
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// grid is the domain of a proof with its tables.
type grid struct {
	fri.Domain
	rows, points int            // n and n·B
	keepsAll     bool           // the values on all cosets are kept, rather than those on two
	batches      [][]int        // the cosets in the order in which they are extended; the cosets of a batch coexist
	transform    *field.Domain  // for n points
	double       *field.Domain  // for 2n points
	cosets       []*field.Coset // the B cosets
	unshift      field.Vector   // powers of 1/s for the first coset, in bit-reversed order
	powers       field.Vector   // w^i, where w is the generator of the rows
}

func newGrid(p fri.Parameters, logRows, mostKept int) *grid {
	g := &grid{
		Domain:    p.Domain(logRows),
		rows:      1 << logRows,
		transform: field.NewDomain(logRows),
		double:    field.NewDomain(logRows + 1),
	}
	g.points = g.rows << p.LogBlowup
	g.keepsAll = g.points <= mostKept
	g.batches = batches(1<<p.LogBlowup, g.keepsAll)
	powers := func(x field.Element) field.Vector {
		v := make(field.Vector, g.rows)
		field.Powers(v, field.New(1), x)
		return v
	}
	for j := range 1 << p.LogBlowup {
		g.cosets = append(g.cosets, field.NewCoset(logRows, g.shift(j)))
	}
	inverse := g.shift(0)
	g.unshift = powers(*inverse.Inverse(&inverse))
	field.BitReverse(g.unshift)
	g.powers = powers(field.RootOfUnity(logRows))
	return g
}

// gridFor returns the grid for the parameters. A prover retains its grids, which take 96 bytes per row with their
// tables.
func (p *Prover) gridFor(parameters fri.Parameters, logRows int) *grid {
	domain := parameters.Domain(logRows)
	g, ok := p.grids[domain]
	if !ok {
		g = newGrid(parameters, logRows, p.mostKept)
		p.grids[domain] = g
	}
	return g
}

// shift returns the s of coset j, whose points are s·w^i.
func (g *grid) shift(j int) field.Element { return g.At(j << g.Log) }

// mostKept is the number of points of the domain up to which all values are kept. For larger domains only the values on
// two cosets are kept.
const mostKept = 1 << 19

// keeps reports whether the values on coset j are kept after they are hashed. The quotient needs the first and the
// middle coset. Rows on other cosets that queries ask for are recomputed.
func (g *grid) keeps(j int) bool { return g.keepsAll || j%(len(g.cosets)/stark.Chunks) == 0 }

// batches puts all cosets into one batch, or each coset into its own. The first coset comes last, as its vectors hold
// the coefficients until then. The middle coset comes before it, as its vectors hold the values that are not kept.
func batches(cosets int, together bool) (all [][]int) {
	middle := cosets / stark.Chunks
	order := []int{}
	for j := 1; j < cosets; j++ {
		if j != middle {
			order = append(order, j)
		}
	}
	order = append(order, middle, 0)
	if together {
		return [][]int{order}
	}
	for _, j := range order {
		all = append(all, []int{j})
	}
	return all
}

// oracle is a set of functions on the domain and the tree that commits to their rows.
type oracle struct {
	cosets [][]field.Vector // by coset and function; nil if the values are not kept
	tree   *merkle.Tree
}

// functions returns the number of functions.
func (o *oracle) functions() int {
	if o.tree == nil {
		return 0
	}
	return len(o.cosets[0])
}

// commit extends n functions to the domain, hashes their rows, appends the root and absorbs it. coefficients writes the
// coefficients of function k in bit-reversed order and reports whether any is not 0.
func (r *making) commit(n int, coefficients func(k int, to field.Vector) bool) oracle {
	g := r.grid
	o, nodes := oracle{cosets: make([][]field.Vector, len(g.cosets))}, r.arena.digests.take(2*g.points)
	for j := range o.cosets {
		if g.keeps(j) {
			o.cosets[j] = r.arena.vectors(n, g.rows)
		}
	}
	nonzero := make([]bool, n)
	r.parallel(n, func(k int) { nonzero[k] = coefficients(k, o.cosets[0][k]) })
	for _, batch := range g.batches {
		for _, j := range batch {
			if !g.keeps(j) {
				o.cosets[j] = o.cosets[len(g.cosets)/stark.Chunks]
			}
		}
		r.parallel(n, func(k int) {
			for _, j := range batch {
				if to := o.cosets[j][k]; nonzero[k] { // false for path elements that no position reaches
					g.cosets[j].Evaluate(to, o.cosets[0][k])
				} else {
					clear(to)
				}
			}
		})
		r.hashRows(nodes[g.points:], &o, batch)
		for _, j := range batch {
			if !g.keeps(j) {
				o.cosets[j] = nil
			}
		}
	}
	o.tree = merkle.New(nodes, r.parallel)
	root := o.tree.Root()
	r.proof = append(r.proof, root[:]...)
	r.transcript.Absorb(root[:])
	return o
}

// leafBlock is the maximum number of rows that one call hashes.
const leafBlock = 1 << 11

// hashRows sets the leaves of the rows on the cosets of a batch.
func (r *making) hashRows(leaves []merkle.Digest, o *oracle, batch []int) {
	g := r.grid
	rows := min(leafBlock, g.rows)
	blocks := g.rows / rows
	r.parallel(blocks*len(batch), func(i int) {
		j, from := batch[i/blocks], i%blocks*rows
		merkle.Leaves(leaves[j*g.rows+from:][:rows], o.cosets[j], from)
	})
}

// commitColumns is commit for columns given by their values on the rows.
func (r *making) commitColumns(columns []field.Vector) oracle {
	return r.commit(len(columns), func(k int, to field.Vector) bool {
		if isZero(columns[k]) {
			return false
		}
		copy(to, columns[k])
		r.grid.transform.Interpolate(to)
		return true
	})
}

func isZero(v field.Vector) bool {
	return !slices.ContainsFunc(v, func(x field.Element) bool { return !x.IsZero() })
}
