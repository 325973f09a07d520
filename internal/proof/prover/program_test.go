package prover

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// randomCircuit draws a circuit of a few columns, public inputs and interactions, with expressions of any form. These
// circuits can be evaluated but not proven.
func randomCircuit(t *rapid.T) *air.Circuit {
	b := air.NewBuilder()
	columns, publics := b.Columns("c", 3), b.Publics(2)
	expressions := append(append([]air.Expr{
		b.First(), b.Last(), b.Const(field.New(5)), columns[1].Next(),
	}, columns...), publics...)
	pick := func() air.Expr { return rapid.SampledFrom(expressions).Draw(t, "operand") }
	for range rapid.IntRange(1, 30).Draw(t, "operations") {
		x, y := pick(), pick()
		switch rapid.IntRange(0, 2).Draw(t, "operation") {
		case 0:
			x = x.Add(y)
		case 1:
			x = x.Sub(y)
		default:
			x = x.Mul(y)
		}
		expressions = append(expressions, x)
	}
	for range rapid.IntRange(0, 5).Draw(t, "interactions") {
		bus := b.Bus("bus", 2)
		if rapid.Bool().Draw(t, "sends") {
			bus.Send(pick(), pick(), pick())
		} else {
			bus.Receive(pick(), pick(), pick())
		}
	}
	for range rapid.IntRange(1, 5).Draw(t, "constraints") {
		b.Constrain("constraint", pick())
	}
	return b.Build()
}

func randomVector(r *rand.Rand, n int) field.Vector {
	v := make(field.Vector, n)
	for i := range v {
		v[i] = field.New(r.Uint64())
	}
	return v
}

func randomExt(r *rand.Rand) field.Ext {
	return field.FromCoordinates([field.Degree]field.Element(randomVector(r, field.Degree)))
}

// extension returns the elements of E whose coordinates are columns.
func extension(columns []field.Vector, row int) (e []field.Ext) {
	for k := 0; k < len(columns); k += field.Degree {
		var c [field.Degree]field.Element
		for i := range c {
			c[i] = columns[k+i][row]
		}
		e = append(e, field.FromCoordinates(c))
	}
	return e
}

// TestProgramsAgreeWithTheCircuit runs both programs of random circuits on random tables and compares each row with the
// circuit's own evaluation.
func TestProgramsAgreeWithTheCircuit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n, rows = 16, 8
		c, r := randomCircuit(t), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		columns, aux := make([]field.Vector, len(c.Columns())), make([]field.Vector, field.Degree*c.AuxColumns())
		for _, table := range [][]field.Vector{columns, aux} {
			for k := range table {
				table[k] = randomVector(r, n)
			}
		}
		first, public := randomVector(r, n), randomVector(r, c.PublicInputs())
		challenges, err := c.NewChallenges(randomExt(r), randomExt(r), nil, 4)
		if err != nil {
			t.Fatal(err)
		}
		challenges.Shift = randomExt(r)
		point := func(row int) *air.Point {
			p := &air.Point{Public: public, Challenges: challenges}
			for _, column := range columns {
				p.Columns = append(p.Columns, field.Lift(column[row]))
				p.Next = append(p.Next, field.Lift(column[(row+1)%n]))
			}
			p.Aux, p.AuxNext = extension(aux, row), extension(aux, (row+1)%n)
			p.First, p.Last = field.Lift(first[row]), field.Lift(first[(row+1)%n])
			return p
		}
		weights := make([]field.Ext, len(c.Constraints()))
		for i := range weights {
			weights[i] = randomExt(r)
		}
		run := func(p *program, total func(row int, value field.Ext), got func(row, output int, value field.Ext)) {
			m := newMachine(p, p.bind(public, challenges, weights), rows)
			for from := 0; from < n; from += rows {
				for k := range columns {
					m.input(p.inputs.columns+int32(k), p.inputs.next+int32(k), columns[k], from)
				}
				for k := range aux {
					m.input(p.inputs.aux+int32(k), p.inputs.auxNext+int32(k), aux[k], from)
				}
				m.input(p.inputs.first, p.inputs.last, first, from)
				m.run(func(output int, v [field.Degree]field.Vector) {
					for i := range rows {
						var c [field.Degree]field.Element
						for k := range c {
							if v[k] != nil {
								c[k] = v[k][i]
							}
						}
						got(from+i, output, field.FromCoordinates(c))
					}
				})
				for i := range rows {
					total(from+i, m.total.At(i))
				}
			}
		}
		run(compileConstraints(c), func(row int, got field.Ext) {
			if want := stark.InnerProduct(weights, c.Evaluate(point(row))); !got.Equal(&want) {
				t.Fatalf("row %d: the constraints add up to %v, want %v", row, &got, &want)
			}
		}, nil)
		sums := make([][]field.Ext, n)
		run(compileBuses(c), func(int, field.Ext) {}, func(row, _ int, sum field.Ext) { sums[row] = append(sums[row], sum) })
		for row := range sums {
			checkSums(t, c, point(row), sums[row])
		}
	})
}

// checkSums stores the sums of a row's groups as helper columns and accumulator. The circuit's own constraints on
// these, which come last, must hold.
func checkSums(t *rapid.T, c *air.Circuit, p *air.Point, sums []field.Ext) {
	if len(sums) == 0 {
		return
	}
	last := len(sums) - 1
	p.Aux, p.AuxNext = sums, make([]field.Ext, len(sums))
	p.AuxNext[last].Sub(&sums[last], &p.Challenges.Shift)
	for _, sum := range sums {
		p.AuxNext[last].Add(&p.AuxNext[last], &sum)
	}
	values := c.Evaluate(p)
	for g, v := range values[len(values)-len(sums):] {
		if !v.IsZero() {
			t.Fatalf("group %d: the constraint gives %v", g, &v)
		}
	}
}
