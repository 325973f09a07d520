package plainverifier

import (
	"errors"
	"maps"
	"slices"
)

// domain is the coset shift·⟨w⟩ of blowup·m points.
type domain struct {
	blowup, m int
	shift, w  uint64
}

// at returns the point at index j·m + i, shift·w^(i·blowup + j).
func (d domain) at(index int) uint64 {
	return times(d.shift, power(d.w, uint64(index%d.m*d.blowup+index/d.m)))
}

func (c *check) domain() domain { return domain{c.level.blowup, c.n, 3, root(c.level.blowup * c.n)} }

// batched is the function F, with the inputs of its definition: the rows of the queries, in order.
type batched struct {
	*check
	opened
	delta                ext
	columns, aux, chunks [][]byte
	asked                int
}

// at returns F at the next query's point.
func (b *batched) at(index int) ext {
	row := b.asked
	b.asked++
	column := func(k int) ext { return lift(b.element(b.columns[row][4*k:])) }
	auxColumn := func(k int) ext { return b.extension(b.aux[row][24*k:]) }
	var functions []ext
	for k := range len(b.columns[row]) / 4 {
		functions = append(functions, column(k))
	}
	for k := range b.Circuit.AuxColumns() {
		functions = append(functions, auxColumn(k))
	}
	functions = append(functions, b.extension(b.chunks[row]), b.extension(b.chunks[row][24:]))
	for _, k := range b.next {
		functions = append(functions, column(k))
	}
	for _, k := range b.auxNext {
		functions = append(functions, auxColumn(k))
	}
	x := lift(b.domain().at(index))
	here, next := lift(0), lift(0)
	weight := lift(1)
	for k, f := range functions {
		term := weight.times(f.minus(b.values[k]))
		if k < b.atPoint {
			here = here.plus(term)
		} else {
			next = next.plus(term)
		}
		weight = weight.times(b.delta)
	}
	here = here.times(x.minus(b.z).inverse())
	next = next.times(x.minus(b.z.scaled(root(b.n))).inverse())
	return here.plus(next)
}

// fri holds the parts of a FRI proof before the queries.
type fri struct {
	*check
	roots [][]byte
	betas []ext
	final []ext
}

func (c *check) readFRI() *fri {
	f := &fri{check: c}
	left := c.n
	for ; left > maxFinal; left /= 8 {
		f.roots = append(f.roots, c.readAbsorbed(32))
		f.betas = append(f.betas, c.drawExt())
	}
	f.final = c.extensions(c.readAbsorbed(24 * left))
	return f
}

// checkQueries follows the values of F at some indices to the final polynomial.
func (f *fri) checkQueries(known map[int]ext) {
	d := f.domain()
	for layer, layerRoot := range f.roots {
		eighth := d.m / 8
		leaves := map[int]bool{}
		for index := range known {
			leaves[index/d.m*eighth+index%d.m%eighth] = true
		}
		hashes, folded := map[int][32]byte{}, map[int]ext{}
		for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
			var row []byte
			var points []uint64
			var values []ext
			for t := range 8 {
				index := leaf/eighth*d.m + leaf%eighth + t*eighth
				v, is := known[index]
				if !is {
					v = f.extension(f.read(24))
				}
				for _, x := range v {
					row = append(row, le32(uint32(x))...)
				}
				points, values = append(points, d.at(index)), append(values, v)
			}
			hashes[leaf] = hash(le32(0), row)
			folded[leaf] = interpolated(points, values, f.betas[layer])
		}
		f.checkTree(layerRoot, d.blowup*eighth, hashes)
		d = domain{d.blowup, eighth, power(d.shift, 8), power(d.w, 8)}
		known = folded
	}
	for index, v := range known {
		x, sum := d.at(index), lift(0)
		for k := len(f.final) - 1; k >= 0; k-- {
			sum = sum.scaled(x).plus(f.final[k])
		}
		if sum != v && f.err == nil {
			f.err = errors.New("final polynomial")
		}
	}
}

// interpolated returns, at beta, the polynomial of degree below 8 with these values, by Lagrange's formula. The values
// are those of Σ x^k·f_k(y) at the points x whose eighth power is y.
func interpolated(points []uint64, values []ext, beta ext) ext {
	sum := lift(0)
	for i, x := range points {
		term := values[i]
		for j, other := range points {
			if j != i {
				term = term.times(beta.minus(lift(other))).scaled(inverse(minus(x, other)))
			}
		}
		sum = sum.plus(term)
	}
	return sum
}
