package prover

import (
	"slices"
	"sync"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// appendRows appends the oracle's rows at indices, and their opening. computed holds, by index, the rows on cosets
// whose values are not kept.
func (r *making) appendRows(b []byte, o *oracle, indices []int, computed map[int]field.Vector) []byte {
	g := r.grid
	for _, index := range indices {
		if row, is := computed[index]; is {
			for k := range row {
				b = field.Append(b, &row[k])
			}
			continue
		}
		for _, v := range o.cosets[index>>g.Log] {
			b = field.Append(b, &v[index&(g.rows-1)])
		}
	}
	return o.tree.AppendOpening(b, indices)
}

// lagrangeBlock is the number of Lagrange polynomials that are evaluated at a time. Their values at sixty points fit in
// the second-level cache, so that a proof's columns are read once.
const lagrangeBlock = 1 << 11

// computed returns, for each oracle, the rows at the indices whose cosets are not kept. It computes them from the
// values on the first coset s·⟨w⟩ by
//
//	f(x) = (x^n − s^n)/(n·s^n) · Σ f(s·w^i)·s·w^i/(x − s·w^i)
//
// for six points at once, as coordinates of an element of E.
func (r *making) computed(oracles []*oracle, indices []int) []map[int]field.Vector {
	g := r.grid
	all := make([]map[int]field.Vector, len(oracles))
	for i := range all {
		all[i] = make(map[int]field.Vector)
	}
	missing := slices.DeleteFunc(slices.Clone(indices), func(index int) bool { return g.keeps(index >> g.Log) })
	groups := slices.Collect(slices.Chunk(missing, field.Degree))
	values := r.interpolate(oracles, groups)
	for number, group := range groups {
		for n, index := range group {
			rest := values[number]
			for i, o := range oracles {
				row := make(field.Vector, o.functions())
				for k := range row {
					row[k] = field.Coordinates(&rest[k])[n]
				}
				all[i][index], rest = row, rest[len(row):]
			}
		}
	}
	return all
}

// interpolate returns, for each group of up to six points, the values of each function of the oracles.
func (r *making) interpolate(oracles []*oracle, groups [][]int) [][]field.Ext {
	g := r.grid
	var functions []field.Vector
	for _, o := range oracles {
		functions = append(functions, o.cosets[0]...)
	}
	sums := make([][]field.Ext, len(groups))
	for i := range sums {
		sums[i] = make([]field.Ext, len(functions))
	}
	if len(groups) == 0 {
		return sums
	}
	rows := min(lagrangeBlock, g.rows)
	var mutex sync.Mutex
	r.parallel(g.rows/rows, func(block int) {
		low, high := block*rows, (block+1)*rows
		weights := make([]field.Planar, len(groups))
		for i, group := range groups {
			weights[i] = r.lagrange(group, low, high)
		}
		part := make([]field.Ext, len(groups)*len(functions))
		for k, f := range functions {
			for i := range groups {
				part[i*len(functions)+k] = field.InnerProducts(f[low:high], &weights[i])
			}
		}
		mutex.Lock()
		defer mutex.Unlock()
		for i := range sums {
			for k := range sums[i] {
				sums[i][k].Add(&sums[i][k], &part[i*len(functions)+k])
			}
		}
	})
	return sums
}

// lagrange returns the Lagrange polynomials of rows low to high at up to six points.
func (r *making) lagrange(group []int, low, high int) field.Planar {
	g := r.grid
	s := g.shift(0)
	sn, scale, negative := field.Pow(s, uint64(g.rows)), field.New(uint64(g.rows)), s
	scale.Mul(&scale, &sn).Inverse(&scale)
	scale.Mul(&scale, &s)
	negative.Neg(&negative)
	weights := field.NewPlanar(high - low)
	for n, index := range group {
		x := g.At(index)
		factor := field.Pow(x, uint64(g.rows))
		factor.Sub(&factor, &sn).Mul(&factor, &scale)
		v := weights[n]
		v.ScalarMul(g.powers[low:high], &negative)
		field.AddScalar(v, v, x)
		field.Invert(v)
		v.Mul(v, g.powers[low:high])
		v.ScalarMul(v, &factor)
	}
	return weights
}
