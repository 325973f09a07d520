package plainverifier

import (
	"errors"
	"math/big"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/air"
)

// opened holds the values that a proof claims for the committed functions at z, and for some of them at z·w.
type opened struct {
	z             ext
	values        []ext // at z: the columns, the auxiliary columns and the two chunks; then next and auxNext at z·w
	atPoint       int   // number of values at z
	next, auxNext []int // columns and auxiliary columns whose next row the circuit reads
}

func (c *check) readOpened(z ext) opened {
	next, auxNext := c.readOfNextRow(air.OpNext), c.readOfNextRow(air.OpAuxNext)
	atPoint := len(c.Circuit.Columns()) + c.Circuit.AuxColumns() + 2
	values := c.extensions(c.readAbsorbed(24 * (atPoint + len(next) + len(auxNext))))
	return opened{z, values, atPoint, next, auxNext}
}

// readOfNextRow returns the columns whose next row the circuit's operations op read.
func (c *check) readOfNextRow(op air.Op) (columns []int) {
	for _, node := range c.Circuit.Nodes() {
		if node.Op == op {
			columns = append(columns, int(node.A))
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// point returns the opened values by column.
func (o opened) point(c *check) point {
	columns := len(c.Circuit.Columns())
	p := point{check: c, z: o.z, columns: o.values[:columns], aux: o.values[columns : o.atPoint-2]}
	p.next, p.auxNext = map[int]ext{}, map[int]ext{}
	for i, column := range o.next {
		p.next[column] = o.values[o.atPoint+i]
	}
	for i, column := range o.auxNext {
		p.auxNext[column] = o.values[o.atPoint+len(o.next)+i]
	}
	return p
}

// point is the point at which constraints are evaluated.
type point struct {
	*check
	z, alpha, beta ext
	columns, aux   []ext
	next, auxNext  map[int]ext
}

// checkConstraints checks Σ η^i·C_i(z) = (z^n − 1)·(q_0(z) + z^n·q_1(z)).
func (p *point) checkConstraints(eta, q0, q1 ext) error {
	one := lift(1)
	zn := p.z.power(big.NewInt(int64(p.n)))
	vanishing := zn.minus(one)
	values, err := p.evaluate(vanishing)
	if err != nil {
		return err
	}
	left, weight := lift(0), one
	for _, constraint := range p.Circuit.Constraints() {
		left = left.plus(weight.times(values[constraint.Node]))
		weight = weight.times(eta)
	}
	if right := vanishing.times(q0.plus(zn.times(q1))); left != right {
		return errors.New("constraints")
	}
	return nil
}

// evaluate returns the values of all nodes of the circuit at z.
func (p *point) evaluate(vanishing ext) ([]ext, error) {
	n := uint64(p.n)
	selector := func(row uint64) ext { // the point of H for a row
		return vanishing.times(p.z.minus(lift(row)).scaled(n).inverse()).scaled(row)
	}
	lastRow := inverse(root(p.n))
	first, last := selector(1), selector(lastRow)
	public, err := p.publicSum()
	if err != nil {
		return nil, err
	}
	shift := lift(0).minus(public.scaled(inverse(n)))
	var values []ext
	for _, node := range p.Circuit.Nodes() {
		var v ext
		switch node.Op {
		case air.OpConst:
			v = lift(node.Value.Uint64())
		case air.OpColumn:
			v = p.columns[node.A]
		case air.OpNext:
			v = p.next[int(node.A)]
		case air.OpPublic:
			v = lift(uint64(p.Public[node.A]))
		case air.OpFirst:
			v = first
		case air.OpLast:
			v = last
		case air.OpAdd:
			v = values[node.A].plus(values[node.B])
		case air.OpSub:
			v = values[node.A].minus(values[node.B])
		case air.OpMul:
			v = values[node.A].times(values[node.B])
		case air.OpAux:
			v = p.aux[node.A]
		case air.OpAuxNext:
			v = p.auxNext[int(node.A)]
		case air.OpAlpha:
			v = p.alpha
		case air.OpBeta:
			v = p.beta.power(big.NewInt(int64(node.A)))
		case air.OpShift:
			v = shift
		default:
			return nil, errors.New("an operation that the page does not have")
		}
		values = append(values, v)
	}
	return values, nil
}

// publicSum is Σ m/(α − (b + β·t_1 + β²·t_2 + …)) over the public side.
func (p *point) publicSum() (ext, error) {
	sum := lift(0)
	for _, t := range p.Terms {
		d, power := p.alpha.minus(lift(uint64(t.Bus))), p.beta
		for _, v := range t.Tuple {
			d = d.minus(power.scaled(uint64(v)))
			power = power.times(p.beta)
		}
		if d.isZero() {
			return sum, errors.New("a fingerprint is 0")
		}
		sum = sum.plus(d.inverse().scaled(uint64(t.Multiplicity)))
	}
	return sum, nil
}
