package blockproof

import (
	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
)

// pathElements is the number of elements in a path, pathBits of bits, elementBits of bits in an element.
const (
	pathElements = digestSize
	elementBits  = 31
	pathBits     = pathElements * elementBits
)

// The columns, each a row's. A row puts together the two halves, left and right, of a position in the tree. A position
// that the segment does not change has one row, a same row. A position that it changes has two: before the segment (the
// changed row) and after it (the next row). Level, prefix and step are those of the position, on its first row.
const (
	colChanged = 0                        // 1 on a changed row
	colSame    = 1                        // 1 on a same row
	colLevel   = 2                        // depth of the position
	colPrefix  = 3                        // where it is: a path with zeros in the bits from level on
	colStep    = colPrefix + pathElements // the path whose only 1 is the bit at level
	colEmpty   = colStep + pathElements   // of left and right: 1 if it is empty
	colLeaf    = colEmpty + 2             // of left and right: 1 if it is a leaf
	// of left and right: 1 if it is a position of its own, with rows or on the public side
	colOpen    = colLeaf + 2
	colKept    = colOpen + 2            // of left and right, on a changed row: 1 if it is neither open nor empty
	colTurn    = colKept + 2            // 0 where right must not be open
	colIsEmpty = colTurn + 1            // 1 if both are empty
	colIsLeaf  = colIsEmpty + 1         // 1 if one is empty and the other a leaf
	colDigest  = colIsLeaf + 1          // of the two together
	colInput   = colDigest + digestSize // of the permutation: left ‖ right
	colPermute = colInput + width       // as permute makes them
	columns    = colPermute + permutationColumns
)

// positionArity and stepArity are the lengths of the tuples on the buses: (level, prefix, empty and leaf before, empty
// and leaf after, digest before, digest after) and (level, step).
const (
	positionArity = 1 + pathElements + 4 + 2*digestSize
	stepArity     = 1 + pathElements
)

// circuit is S1's, with its buses.
var circuit, positions, steps = newCircuit()

// Circuit is the circuit of statement S1. Its public inputs are the state root before and after the segment, eight
// elements each.
func Circuit() *air.Circuit { return circuit }

// half is one of the two subtrees that a row puts together.
type half struct {
	empty, leaf, open, kept air.Expr
	digest                  []air.Expr
}

// row is the columns of a row, as expressions.
type row struct {
	b                      *air.Builder
	changed, same          air.Expr
	level                  air.Expr
	prefix, step           []air.Expr
	halves                 [2]half
	turn, isEmpty, isLeaf  air.Expr
	digest                 []air.Expr
	hashed                 []air.Expr // first half of the permutation's result
	before, after          []air.Expr // public: the roots
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

// side names the halves.
var side = [2]string{"left", "right"}

func (r *row) bit(name string, e air.Expr) { r.b.Constrain(name+" is a bit", e.Mul(e.Not())) }

// constrainKinds says what two halves are together. They are nothing if both are empty. They are a leaf, with its
// digest, if one is empty and the other a leaf. Else they are a node, with the hash of both.
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

// constrainPlace says that a row with an open right half has, in the element of the path that its level lies in, not
// the prefix p − 1. Then no prefix ever passes p − 1, which has zeros in its last 24 bits. The next 1 among them would
// make an element of p or more, which as a field element is another path's.
func (r *row) constrainPlace() {
	right := &r.halves[1]
	sum := r.b.Const(field.Element{})
	for i := range r.prefix {
		sum = sum.Add(r.step[i].Mul(r.prefix[i].Add(r.b.Const(field.New(1)))))
	}
	r.b.Constrain("canonical path", right.open.Sub(r.turn.Mul(sum)))
}

// constrainClosed says what holds of a half that is not open: no access lies in it, so it is the same before and
// after. It may not pass for a leaf; unless it is empty, it counts as a node.
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
		// A node stays where it is when the other half is emptied, a leaf moves up: which of them it is must be shown.
		r.b.Constrain(name+" kept: the other is not emptied", h.kept.Mul(other.empty.Not()).Mul(other.empty.Next()))
		// The next row's prefix (for left) or step (for right) has no other use: it shows that the digest is not zero.
		witness := [2][]air.Expr{r.prefix, r.step}[s]
		product := r.b.Const(field.Element{})
		for i := range h.digest {
			product = product.Add(h.digest[i].Mul(witness[i].Next()))
		}
		r.b.Constrain(name+" kept: digest not zero", h.kept.Mul(product.Not()))
	}
}

// constrainRoot says that the first row is the root's.
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

// interact says that each position except the root is received from the row above it. Each open half is sent to where
// it belongs: to its own rows or to the public side. A position's step is looked up by its level.
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

// positionTuple is the tuple of a position, whose columns after the segment are those before it as after gives them.
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
