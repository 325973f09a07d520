package air

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// ErrShape is returned for a table, public inputs or a public side that are not of the circuit's shape.
var ErrShape = errors.New("air: not of the circuit's shape")

// Violation is a constraint that a row does not fulfil.
type Violation struct {
	Constraint string
	Row        int
}

func (v *Violation) Error() string {
	return fmt.Sprintf("air: row %d violates the constraint %q", v.Row, v.Constraint)
}

// Imbalance is a tuple that is not received as often as it is sent.
type Imbalance struct {
	Bus   string
	Tuple []field.Element
	Row   int           // the first that sends or receives it; −1: the public side
	Net   field.Element // how often it is sent less how often it is received
}

func (i *Imbalance) Error() string {
	return fmt.Sprintf("air: bus %q does not balance: net %s of %v, first met in row %d", i.Bus, i.Net.String(), i.Tuple, i.Row)
}

// Check evaluates the circuit row by row over a table, given by columns of one length, and the buses as multisets,
// with no randomness and no commitment. It is what the circuit means, and what tests of circuits use; it returns a
// *Violation, an *Imbalance or an error that wraps ErrShape.
func (c *Circuit) Check(columns []field.Vector, public []field.Element, terms []Term) error {
	if len(columns) != len(c.columns) || len(public) != c.public || len(columns) == 0 {
		return fmt.Errorf("%w: %d columns and %d public inputs", ErrShape, len(columns), len(public))
	}
	rows := len(columns[0])
	for i := range columns {
		if len(columns[i]) != rows || rows == 0 {
			return fmt.Errorf("%w: %d rows in column %q", ErrShape, len(columns[i]), c.columns[i])
		}
	}
	l := ledger{c: c, index: make(map[string]int)}
	for _, term := range terms {
		if len(term.Tuple) != c.buses[term.Bus.id-1].arity {
			return fmt.Errorf("%w: %d elements for bus %q", ErrShape, len(term.Tuple), c.buses[term.Bus.id-1].name)
		}
		l.add(term.Bus.id, term.Multiplicity, term.Tuple, -1)
	}
	values := make([]field.Element, len(c.nodes))
	for row := range rows {
		c.evaluateRow(values, columns, public, row)
		for _, constraint := range c.constraints {
			if !c.extension[constraint.Node] && !values[constraint.Node].IsZero() {
				return &Violation{constraint.Name, row}
			}
		}
		for _, it := range c.interactions {
			tuple := make([]field.Element, len(it.Tuple))
			for i, node := range it.Tuple {
				tuple[i] = values[node]
			}
			l.add(it.Bus, values[it.Multiplicity], tuple, row)
		}
	}
	return l.balance()
}

// evaluateRow sets the values of the nodes in the base field.
func (c *Circuit) evaluateRow(values []field.Element, columns []field.Vector, public []field.Element, row int) {
	rows := len(columns[0])
	selector := func(on bool) field.Element {
		if on {
			return field.New(1)
		}
		return field.Element{}
	}
	for i, n := range c.nodes {
		switch n.Op {
		case OpConst:
			values[i] = n.Value
		case OpColumn:
			values[i] = columns[n.A][row]
		case OpNext:
			values[i] = columns[n.A][(row+1)%rows]
		case OpPublic:
			values[i] = public[n.A]
		case OpFirst:
			values[i] = selector(row == 0)
		case OpLast:
			values[i] = selector(row == rows-1)
		case OpAdd, OpSub, OpMul:
			if !c.extension[i] {
				values[i] = compute(n.Op, values[n.A], values[n.B])
			}
		}
	}
}

// ledger counts tuples.
type ledger struct {
	c     *Circuit
	index map[string]int // by bus and tuple
	list  []Imbalance
}

func (l *ledger) add(bus int, multiplicity field.Element, tuple []field.Element, row int) {
	if multiplicity.IsZero() {
		return
	}
	key := []byte{byte(bus)}
	for i := range tuple {
		key = field.Append(key, &tuple[i])
	}
	i, ok := l.index[string(key)]
	if !ok {
		i = len(l.list)
		l.index[string(key)] = i
		l.list = append(l.list, Imbalance{Bus: l.c.buses[bus-1].name, Tuple: slices.Clone(tuple), Row: row})
	}
	l.list[i].Net.Add(&l.list[i].Net, &multiplicity)
}

func (l *ledger) balance() error {
	for i := range l.list {
		if !l.list[i].Net.IsZero() {
			return &l.list[i]
		}
	}
	return nil
}
