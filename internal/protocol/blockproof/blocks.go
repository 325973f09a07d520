package blockproof

import "github.com/cairn-chain/cairn/internal/proof/field"

// blockRows is the number of rows whose permutations are computed at a time: few enough for the block's values to stay
// in the processor's cache.
const blockRows = 256

// partials is the number of partial rounds.
const partials = firstEnding - firstPartial

// form is an affine form in the inputs of a linear layer: the state's lanes, the s-boxes of the partial rounds, and 1.
type form [width + partials + 1]field.Element

// affine is the arithmetic of forms.
type affine struct{}

func (affine) add(x, y form) form {
	for i := range x {
		x[i].Add(&x[i], &y[i])
	}
	return x
}

func (affine) sub(x, y form) form {
	for i := range x {
		x[i].Sub(&x[i], &y[i])
	}
	return x
}

func (affine) scale(x form, k field.Element) form {
	for i := range x {
		x[i].Mul(&x[i], &k)
	}
	return x
}

func (affine) offset(x form, k field.Element) form {
	x[len(x)-1].Add(&x[len(x)-1], &k)
	return x
}

// forms holds the forms of the permutation's linear layers. Each comment ends with the inputs of the forms.
var forms = func() (f struct {
	matrix  []formGroup     // the matrix, in the lanes
	lanes   []formGroup     // s-box inputs of the partial rounds, in the state before them and earlier s-boxes
	within  []field.Weights // weight of each s-box in the lanes of its own group
	partial []formGroup     // state after the partial rounds, in the state before them and the s-boxes
}) {
	var identity [width]form
	for i := range identity {
		identity[i][i] = field.New(1)
	}
	through := matrix[form](affine{}, identity)
	f.matrix = formGroups(through[:], width)
	var lanes []form
	after := partialRounds(affine{}, identity, func(lane form) (sbox form) {
		sbox[width+len(lanes)] = field.New(1)
		lanes = append(lanes, lane)
		return sbox
	})
	f.partial = formGroups(after[:], width+partials)
	for first := 0; first < partials; first += field.Degree {
		group := lanes[first:min(first+field.Degree, partials)]
		f.lanes = append(f.lanes, formGroups(group, width+first)...)
		for k := range group {
			f.within = append(f.within, newFormGroup(group, width+first+k, 1).weights)
		}
	}
	return f
}()

// formGroup is a group of forms that are computed at once.
type formGroup struct {
	weights   field.Weights // for each input of the forms
	constants [field.Degree]field.Element
}

// newFormGroup returns a group of at most field.Degree forms, restricted to n inputs from first on.
func newFormGroup(forms []form, first, n int) (g formGroup) {
	weights := make([]field.Ext, n)
	for k := range weights {
		var coordinates [field.Degree]field.Element
		for i := range forms {
			coordinates[i] = forms[i][first+k]
		}
		weights[k] = field.FromCoordinates(coordinates)
	}
	for i := range forms {
		g.constants[i] = forms[i][len(form{})-1]
	}
	g.weights = field.NewWeights(weights)
	return g
}

// formGroups returns groups of all the forms, restricted to the first n inputs.
func formGroups(forms []form, n int) (all []formGroup) {
	for len(forms) > 0 {
		now := min(field.Degree, len(forms))
		all, forms = append(all, newFormGroup(forms[:now], 0, n)), forms[now:]
	}
	return all
}

// blocks computes permutations for blocks of rows of a table.
type blocks struct {
	columns   []field.Vector // columns of the permutation, in order
	low, high int            // range of rows
	made      int            // number of columns computed so far

	// Buffers for vectors of the block:
	boxes, state, lanes, unused []field.Vector
	zeros, spare                field.Vector
	all                         []field.Vector // all buffers
}

// newBlocks returns blocks for the permutation's columns.
func newBlocks(columns []field.Vector) *blocks {
	const n = 2*width + 2*field.Degree + 2
	b, room := &blocks{columns: columns, all: make([]field.Vector, n)}, make(field.Vector, n*blockRows)
	for i := range b.all {
		b.all[i] = room[i*blockRows : (i+1)*blockRows : (i+1)*blockRows]
	}
	return b
}

// next moves to the rows low to high, at most blockRows.
func (b *blocks) next(low, high int) {
	b.low, b.high, b.made = low, high, 0
	for i := range b.all {
		b.all[i] = b.all[i][:high-low]
	}
	all := b.all
	for _, part := range []struct {
		to *[]field.Vector
		n  int
	}{{&b.boxes, width}, {&b.state, width}, {&b.lanes, field.Degree}, {&b.unused, field.Degree}} {
		*part.to, all = all[:part.n], all[part.n:]
	}
	b.zeros, b.spare = all[0], all[1]
}

// take returns the next n columns of the permutation.
func (b *blocks) take(n int) []field.Vector {
	v := make([]field.Vector, n)
	for i := range v {
		v[i] = b.columns[b.made][b.low:b.high]
		b.made++
	}
	return v
}

// sum sets dst to the first len(dst) forms of sources.
func (b *blocks) sum(dst []field.Vector, all []formGroup, sources []field.Vector) {
	for i := range all {
		n := min(field.Degree, len(dst))
		for k, v := range dst[:n] {
			field.AddScalar(v, b.zeros, all[i].constants[k])
		}
		b.add(dst[:n], all[i].weights, sources)
		if dst = dst[n:]; len(dst) == 0 {
			return
		}
	}
}

// add adds to dst the sources, each times its weights.
func (b *blocks) add(dst []field.Vector, weights field.Weights, sources []field.Vector) {
	to := field.Planar(b.unused) // receives sums that are not needed
	copy(to[:], dst)
	field.Combine(&to, sources, weights)
}

// cube sets dst, which may be x, to x³.
func (b *blocks) cube(dst, x field.Vector) {
	b.spare.Mul(x, x)
	dst.Mul(b.spare, x)
}

// fullRound sets dst to the first lanes of the result of a full round on x.
func (b *blocks) fullRound(round int, dst, x []field.Vector) {
	for i, box := range b.boxes {
		field.AddScalar(box, x[i], roundConstant(round, i))
		b.cube(box, box)
	}
	b.sum(dst, forms.matrix, b.boxes)
}

// partialRounds sets b.state to the result of the partial rounds on x.
func (b *blocks) partialRounds(x []field.Vector) {
	known := append(make([]field.Vector, 0, width+partials), x...)
	for first := 0; first < partials; first += field.Degree {
		lanes := b.lanes[:min(field.Degree, partials-first)]
		b.sum(lanes, forms.lanes[first/field.Degree:], known)
		for k, lane := range lanes {
			box := b.take(1)
			b.cube(box[0], lane)
			b.add(lanes, forms.within[first+k], box)
			known = append(known, box[0])
		}
	}
	b.sum(b.state, forms.partial, known)
}

// permute fills the permutation's columns for the inputs x.
func (b *blocks) permute(x []field.Vector) {
	full := func(low, high int) {
		for r := low; r < high; r++ {
			next := b.take(width)
			b.fullRound(r, next, x)
			x = next
		}
	}
	full(0, firstPartial)
	b.partialRounds(x)
	x = b.state
	full(firstEnding, rounds-1)
	b.fullRound(rounds-1, b.take(digestSize), x)
}
