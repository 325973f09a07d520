// Package air is the language in which circuits of proofs are written: polynomial constraints over the rows of a table
// (an algebraic intermediate representation), with buses between rows.
//
// A circuit is built once, from expressions over columns, public inputs and the selectors of the first and the last
// row. A column is read on the current row or on the next; the row after the last is the first. A constraint is an
// expression that must be 0 on every row. Prover, verifier and [Circuit.Check] evaluate the same graph of expressions,
// so a rule is written once.
//
// A bus is a multiset of tuples that rows send and receive; it must balance. This is checked by logarithmic derivatives
// (Haböck, eprint 2022/1530). With challenges α and β, the fingerprint of a tuple t on bus b is α − (b + Σ β^i·t_i, i ≥
// 1). The sum of multiplicity / fingerprint over all tuples sent must equal the sum over all tuples received. A part of
// it, the public side, is known to the verifier, who computes its sum: [Circuit.NewChallenges].
package air

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// Op is the kind of a [Node].
type Op uint8

// Kinds of nodes. Leaves after OpMul have values in the extension field, and so do operations with such an operand.
const (
	OpConst  Op = iota // Value
	OpColumn           // column A of this row
	OpNext             // column A of the next row
	OpPublic           // public input A
	OpFirst            // 1 on the first row, 0 on the others
	OpLast             // 1 on the last row, 0 on the others
	OpAdd              // A + B
	OpSub              // A − B
	OpMul              // A · B

	OpAux     // helper column A of this row
	OpAuxNext // helper column A of the next row
	OpAlpha   // the challenge α
	OpBeta    // the challenge β to the power A, A ≥ 1
	OpShift   // the buses' sum over all rows, divided by their number: subtracted from the accumulator's growth
)

// Node is an expression in a circuit's graph. For OpAdd, OpSub and OpMul, A and B are the indices of earlier nodes. For
// other kinds, Op states the meaning of A.
type Node struct {
	Op    Op
	A, B  int32
	Value field.Element // only for OpConst
}

// Expr is an expression of the circuit that a [Builder] builds.
type Expr struct {
	b    *Builder
	node int32
}

// Builder collects the parts of a circuit. It panics on programming errors, such as adding expressions of two builders.
type Builder struct {
	nodes        []Node
	extension    []bool // by node: its values are in the extension field
	index        map[Node]int32
	columns      []string
	public       int
	constraints  []Constraint
	interactions []Interaction
	buses        []busShape
}

// NewBuilder returns a builder of an empty circuit.
func NewBuilder() *Builder { return &Builder{index: make(map[Node]int32)} }

// Column adds a column. Its name is for people.
func (b *Builder) Column(name string) Expr {
	b.columns = append(b.columns, name)
	return b.leaf(OpColumn, len(b.columns)-1)
}

// Columns adds n columns, named name[0] to name[n−1].
func (b *Builder) Columns(name string, n int) []Expr {
	columns := make([]Expr, n)
	for i := range columns {
		columns[i] = b.Column(fmt.Sprintf("%s[%d]", name, i))
	}
	return columns
}

// Publics adds n public inputs: values that the verifier knows and that are the same on every row.
func (b *Builder) Publics(n int) []Expr {
	inputs := make([]Expr, n)
	for i := range inputs {
		inputs[i] = b.leaf(OpPublic, b.public)
		b.public++
	}
	return inputs
}

// First returns the selector that is 1 on the first row and 0 on the others.
func (b *Builder) First() Expr { return b.leaf(OpFirst, 0) }

// Last returns the selector that is 1 on the last row and 0 on the others. 1 − Last selects the transitions that do not
// wrap around.
func (b *Builder) Last() Expr { return b.leaf(OpLast, 0) }

// Const returns an expression that is x on every row.
func (b *Builder) Const(x field.Element) Expr { return b.add(Node{Op: OpConst, Value: x}) }

// Constrain adds the constraint that e is 0 on every row. Its name is for people.
func (b *Builder) Constrain(name string, e Expr) {
	b.own(e)
	b.constraints = append(b.constraints, Constraint{Name: name, Node: e.node})
}

// Next returns column e of the next row. The row after the last is the first.
func (e Expr) Next() Expr {
	n := e.b.nodes[e.node]
	if n.Op != OpColumn {
		panic("air: next row of an expression that is not a column")
	}
	return e.b.leaf(OpNext, int(n.A))
}

// Add returns e + f.
func (e Expr) Add(f Expr) Expr { return e.b.operation(OpAdd, e, f) }

// Sub returns e − f.
func (e Expr) Sub(f Expr) Expr { return e.b.operation(OpSub, e, f) }

// Mul returns e · f.
func (e Expr) Mul(f Expr) Expr { return e.b.operation(OpMul, e, f) }

// Not returns 1 − e.
func (e Expr) Not() Expr { return e.b.one().Sub(e) }

func (b *Builder) one() Expr { return b.Const(field.New(1)) }

func (b *Builder) leaf(op Op, index int) Expr { return b.add(Node{Op: op, A: int32(index)}) }

func (b *Builder) own(e Expr) {
	if e.b != b {
		panic("air: expression belongs to another circuit")
	}
}

// operation adds e op f. It computes constants and simplifies operations with 0 and 1.
func (b *Builder) operation(op Op, e, f Expr) Expr {
	b.own(e)
	b.own(f)
	x, y := b.nodes[e.node], b.nodes[f.node]
	switch {
	case x.Op == OpConst && y.Op == OpConst:
		return b.Const(compute(op, x.Value, y.Value))
	case op == OpMul && (isConst(x, 0) || isConst(y, 1)):
		return e
	case op == OpMul && (isConst(y, 0) || isConst(x, 1)):
		return f
	case op == OpAdd && isConst(x, 0):
		return f
	case op != OpMul && isConst(y, 0):
		return e
	}
	if op != OpSub && f.node < e.node {
		e, f = f, e
	}
	return b.add(Node{Op: op, A: e.node, B: f.node})
}

func isConst(n Node, v uint64) bool { return n.Op == OpConst && n.Value == field.New(v) }

func compute(op Op, x, y field.Element) (z field.Element) {
	switch op {
	case OpAdd:
		z.Add(&x, &y)
	case OpSub:
		z.Sub(&x, &y)
	default:
		z.Mul(&x, &y)
	}
	return z
}

// add returns the only node that equals n.
func (b *Builder) add(n Node) Expr {
	i, ok := b.index[n]
	if !ok {
		i = int32(len(b.nodes))
		b.index[n] = i
		b.nodes = append(b.nodes, n)
		extension := n.Op > OpMul
		if isOperation(n.Op) {
			extension = b.extension[n.A] || b.extension[n.B]
		}
		b.extension = append(b.extension, extension)
	}
	return Expr{b, i}
}

func isOperation(op Op) bool { return op == OpAdd || op == OpSub || op == OpMul }
