package air

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// ErrShape is returned for a table, public inputs or a public side that do not have the circuit's shape.
var ErrShape = errors.New("air: shape differs from the circuit's")

// Violation is returned for a constraint that a row violates.
type Violation struct {
	Constraint string
	Row        int
}

func (v *Violation) Error() string {
	return fmt.Sprintf("air: row %d violates the constraint %q", v.Row, v.Constraint)
}

// Imbalance is returned for a tuple that is not received as often as it is sent.
type Imbalance struct {
	Bus   string
	Tuple []field.Element
	Row   int           // the first row that sends or receives it; −1 for the public side
	Net   field.Element // number of times it is sent minus number of times it is received
}

func (i *Imbalance) Error() string {
	return fmt.Sprintf(
		"air: bus %q does not balance: net %s of %v, first met in row %d", i.Bus, i.Net.String(), i.Tuple, i.Row,
	)
}

// Check evaluates the circuit row by row over a table, given by columns of equal length, and the buses as multisets,
// without randomness or commitments. It defines the meaning of the circuit and is used in tests. It returns a
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
	values := make([]field.Vector, len(c.nodes))
	for low := 0; low < rows; low += checkRows {
		high := min(low+checkRows, rows)
		c.evaluateRows(values, columns, public, low, high)
		if v := c.violation(values, low, high); v != nil {
			return v
		}
		for row := range high - low {
			for _, it := range c.interactions {
				tuple := make([]field.Element, len(it.Tuple))
				for i, node := range it.Tuple {
					tuple[i] = values[node][row]
				}
				l.add(it.Bus, values[it.Multiplicity][row], tuple, low+row)
			}
		}
	}
	return l.balance()
}

// checkRows is the number of rows that are evaluated at a time.
const checkRows = 128

// violation returns a *Violation for the first row from low to high that violates a constraint, or nil.
func (c *Circuit) violation(values []field.Vector, low, high int) error {
	for row := range high - low {
		for _, constraint := range c.constraints {
			if !c.extension[constraint.Node] && !values[constraint.Node][row].IsZero() {
				return &Violation{constraint.Name, low + row}
			}
		}
	}
	return nil
}

// evaluateRows sets the values of the base-field nodes on rows low to high.
func (c *Circuit) evaluateRows(values []field.Vector, columns []field.Vector, public []field.Element, low, high int) {
	rows := len(columns[0])
	one := field.New(1)
	for i, n := range c.nodes {
		if c.extension[i] {
			continue
		}
		if cap(values[i]) < high-low {
			values[i] = make(field.Vector, high-low)
		}
		v := values[i][:high-low]
		values[i] = v
		switch n.Op {
		case OpConst:
			fill(v, n.Value)
		case OpColumn:
			copy(v, columns[n.A][low:high])
		case OpNext:
			copy(v, columns[n.A][low+1:])
			if high == rows {
				v[len(v)-1] = columns[n.A][0]
			}
		case OpPublic:
			fill(v, public[n.A])
		case OpFirst, OpLast:
			fill(v, field.Element{})
			if n.Op == OpFirst && low == 0 {
				v[0] = one
			} else if n.Op == OpLast && high == rows {
				v[len(v)-1] = one
			}
		case OpAdd:
			v.Add(values[n.A], values[n.B])
		case OpSub:
			v.Sub(values[n.A], values[n.B])
		case OpMul:
			v.Mul(values[n.A], values[n.B])
		}
	}
}

func fill(v field.Vector, x field.Element) {
	for i := range v {
		v[i] = x
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
	key := make([]byte, 0, 4+field.Size*len(tuple))
	key = append(key, byte(bus))
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
