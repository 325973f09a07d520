package blockproof

import (
	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
)

// Sizes of a path: its elements, the bits in an element, and its bits.
const (
	pathElements = digestSize
	elementBits  = 31
	pathBits     = pathElements * elementBits
)

// Columns of the table. A row combines the two halves, left and right, of a position in the tree. A position that the
// segment does not change has one row, a same row. A position that it changes has two: the state before the segment
// (the changed row) and after it (the next row). Level, prefix and step describe the position, on its first row.
const (
	colChanged = 0                        // 1 on a changed row
	colSame    = 1                        // 1 on a same row
	colLevel   = 2                        // depth of the position
	colPrefix  = 3                        // the position's prefix: a path with zeros in the bits from level on
	colStep    = colPrefix + pathElements // the path whose only 1 is the bit at level
	colEmpty   = colStep + pathElements   // left and right: 1 if empty
	colLeaf    = colEmpty + 2             // left and right: 1 if a leaf
	// left and right: 1 if it is a position of its own, with rows or on the public side
	colOpen    = colLeaf + 2
	colKept    = colOpen + 2            // left and right, on a changed row: 1 if neither open nor empty
	colTurn    = colKept + 2            // 0 if right must not be open
	colIsEmpty = colTurn + 1            // 1 if both are empty
	colIsLeaf  = colIsEmpty + 1         // 1 if one is empty and the other a leaf
	colDigest  = colIsLeaf + 1          // digest of both halves together
	colInput   = colDigest + digestSize // input of the permutation: left ‖ right
	colPermute = colInput + width       // columns of the permutation, in the order of permute
	columns    = colPermute + permutationColumns
)

// positionArity and stepArity are the lengths of the tuples on the buses: (level, prefix, empty and leaf before, empty
// and leaf after, digest before, digest after) and (level, step).
const (
	positionArity = 1 + pathElements + 4 + 2*digestSize
	stepArity     = 1 + pathElements
)

// circuit is the circuit of statement S1; positions and steps are its buses.
var circuit, positions, steps = newCircuit()

// Circuit returns the circuit of statement S1. Its public inputs are the state roots before and after the segment,
// eight elements each.
func Circuit() *air.Circuit { return circuit }

// half is one of the two subtrees that a row combines.
type half struct {
	empty, leaf, open, kept air.Expr
	digest                  []air.Expr
}

// row holds the columns of a row as expressions.
type row struct {
	b                      *air.Builder
	changed, same          air.Expr
	level                  air.Expr
	prefix, step           []air.Expr
	halves                 [2]half
	turn, isEmpty, isLeaf  air.Expr
	digest                 []air.Expr
	hashed                 []air.Expr // first half of the permutation's output
	before, after          []air.Expr // public inputs: the roots
	positionsBus, stepsBus air.Bus
}

func newCircuit() (*air.Circuit, air.Bus, air.Bus) {
	r := newRow(air.NewBuilder())
	r.constrainKinds()
	r.constrainPlace()
	r.constrainClosed()
	r.constrainRoot()
	r.interact()
	return r.b.Build(), r.positionsBus, r.stepsBus
}

// newRow adds all columns, in the order of the constants, and the permutation.
func newRow(b *air.Builder) *row {
	r := &row{b: b}
	r.changed, r.same, r.level = b.Column("changed"), b.Column("same"), b.Column("level")
	r.prefix, r.step = b.Columns("prefix", pathElements), b.Columns("step", pathElements)
	empty, leaf, open, kept := b.Columns("empty", 2), b.Columns("leaf", 2), b.Columns("open", 2), b.Columns("kept", 2)
	r.turn, r.isEmpty, r.isLeaf = b.Column("turn"), b.Column("is empty"), b.Column("is leaf")
	r.digest = b.Columns("digest", digestSize)
	input := b.Columns("input", width)
	for i := range r.halves {
		r.halves[i] = half{empty[i], leaf[i], open[i], kept[i], input[i*digestSize:][:digestSize]}
	}
	hashed := permute[air.Expr](expressions{b, new(int)}, [width]air.Expr(input))
	r.hashed = hashed[:]
	roots := b.Publics(2 * digestSize)
	r.before, r.after = roots[:digestSize], roots[digestSize:]
	r.positionsBus, r.stepsBus = b.Bus("position", positionArity), b.Bus("step", stepArity)
	return r
}

// side holds the names of the halves.
var side = [2]string{"left", "right"}

func (r *row) bit(name string, e air.Expr) { r.b.Constrain(name+" is a bit", e.Mul(e.Not())) }

// constrainKinds constrains the combination of two halves. It is empty if both are empty. It is a leaf, with the leaf's
// digest, if one is empty and the other is a leaf. Otherwise it is a node, whose digest is the hash of both.
func (r *row) constrainKinds() {
	left, right := &r.halves[0], &r.halves[1]
	for s, h := range r.halves {
		r.bit(side[s]+" empty", h.empty)
		for i := range h.digest {
			r.b.Constrain(indexed(side[s]+" empty: digest", i), h.empty.Mul(h.digest[i]))
		}
	}
	r.b.Constrain("is empty", left.empty.Mul(right.empty).Sub(r.isEmpty))
	r.b.Constrain("is leaf", left.empty.Mul(right.leaf).Add(right.empty.Mul(left.leaf)).Sub(r.isLeaf))
	isNode := r.isEmpty.Add(r.isLeaf).Not()
	for i := range r.digest {
		l, n := left.digest[i], right.digest[i]
		r.b.Constrain(indexed("digest", i), l.Add(n).Add(isNode.Mul(r.hashed[i].Sub(n))).Sub(r.digest[i]))
	}
}

// constrainPlace requires that in a row with an open right half the prefix is not p − 1 in the path element that
// contains the level. Then no prefix ever exceeds p − 1, whose last 24 bits are zeros: the next 1 among them would make
// an element of p or more, which as a field element belongs to another path.
func (r *row) constrainPlace() {
	right := &r.halves[1]
	sum := r.b.Const(field.Element{})
	for i := range r.prefix {
		sum = sum.Add(r.step[i].Mul(r.prefix[i].Add(r.b.Const(field.New(1)))))
	}
	r.b.Constrain("canonical path", right.open.Sub(r.turn.Mul(sum)))
}

// constrainClosed constrains a half that is not open: no access is in it, so it is the same before and after. It must
// not count as a leaf; unless it is empty, it counts as a node.
func (r *row) constrainClosed() {
	position := r.changed.Add(r.same)
	for s, h := range r.halves {
		name, other := side[s], &r.halves[1-s]
		closed := h.open.Not()
		r.bit(name+" open", h.open)
		r.b.Constrain(name+" closed: no leaf", position.Mul(closed).Mul(h.leaf))
		changedClosed := r.changed.Mul(closed)
		r.b.Constrain(name+" closed: empty before and after", changedClosed.Mul(h.empty.Next().Sub(h.empty)))
		r.b.Constrain(name+" closed: leaf before and after", changedClosed.Mul(h.leaf.Next().Sub(h.leaf)))
		for i := range h.digest {
			r.b.Constrain(
				indexed(name+" closed: digest before and after", i), changedClosed.Mul(h.digest[i].Next().Sub(h.digest[i])),
			)
		}
		r.b.Constrain(name+" kept", changedClosed.Mul(h.empty.Not()).Sub(h.kept))
		// When the other half is emptied, a node stays in place but a leaf moves up, so the half must be opened.
		r.b.Constrain(name+" kept: the other is not emptied", h.kept.Mul(other.empty.Not()).Mul(other.empty.Next()))
		// The next row's prefix (for left) or step (for right) is otherwise unused: it shows that the digest is not
		// zero.
		witness := [2][]air.Expr{r.prefix, r.step}[s]
		product := r.b.Const(field.Element{})
		for i := range h.digest {
			product = product.Add(h.digest[i].Mul(witness[i].Next()))
		}
		r.b.Constrain(name+" kept: digest not zero", h.kept.Mul(product.Not()))
	}
}

// constrainRoot requires that the first row belongs to the root.
func (r *row) constrainRoot() {
	first := r.b.First()
	r.bit("changed", r.changed)
	r.bit("same", r.same)
	r.b.Constrain("root", first.Mul(r.changed.Add(r.same).Not()))
	r.b.Constrain("root: level", first.Mul(r.level))
	for i := range r.prefix {
		r.b.Constrain(indexed("root: prefix", i), first.Mul(r.prefix[i]))
	}
	for i := range r.digest {
		before := r.digest[i]
		after := before.Add(r.changed.Mul(before.Next().Sub(before)))
		r.b.Constrain(indexed("root: before", i), first.Mul(before.Sub(r.before[i])))
		r.b.Constrain(indexed("root: after", i), first.Mul(after.Sub(r.after[i])))
	}
}

// interact requires that each position except the root is received from the row above it. Each open half is sent to its
// destination: its own rows or the public side. A position's step is looked up by its level.
func (r *row) interact() {
	below := r.b.First().Not()
	next := func(e air.Expr) air.Expr { return e.Next() }
	stay := func(e air.Expr) air.Expr { return e }
	for _, kind := range []struct {
		is    air.Expr
		after func(air.Expr) air.Expr
	}{{r.changed, next}, {r.same, stay}} {
		r.positionsBus.Receive(
			kind.is.Mul(below), positionTuple(r.level, r.prefix, r.isEmpty, r.isLeaf, r.digest, kind.after)...,
		)
		for s, h := range r.halves {
			level, prefix := r.level.Add(r.b.Const(field.New(1))), r.prefix
			if s == 1 {
				prefix = sums(r.prefix, r.step)
			}
			r.positionsBus.Send(kind.is.Mul(h.open), positionTuple(level, prefix, h.empty, h.leaf, h.digest, kind.after)...)
		}
	}
	r.stepsBus.Send(r.changed.Add(r.same), append([]air.Expr{r.level}, r.step...)...)
}

// positionTuple returns the tuple of a position. Function after maps a column before the segment to the column after
// it.
func positionTuple(
	level air.Expr, prefix []air.Expr, empty, leaf air.Expr, digest []air.Expr, after func(air.Expr) air.Expr,
) []air.Expr {
	tuple := append([]air.Expr{level}, prefix...)
	tuple = append(tuple, empty, leaf, after(empty), after(leaf))
	tuple = append(tuple, digest...)
	for _, e := range digest {
		tuple = append(tuple, after(e))
	}
	return tuple
}

func sums(a, b []air.Expr) []air.Expr {
	c := make([]air.Expr, len(a))
	for i := range c {
		c[i] = a[i].Add(b[i])
	}
	return c
}
