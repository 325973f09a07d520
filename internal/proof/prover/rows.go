package prover

import (
	"slices"

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

// lagrangeBlock is the number of Lagrange polynomials that are evaluated at a time. Their values at six points fit in
// the second-level cache.
const lagrangeBlock = 1 << 13

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
	for group := range slices.Chunk(missing, field.Degree) {
		sums := r.interpolate(oracles, group)
		for n, index := range group {
			rest := sums
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

// interpolate returns the values of each function of the oracles at up to six points.
func (r *making) interpolate(oracles []*oracle, group []int) []field.Ext {
	g := r.grid
	var functions []field.Vector
	for _, o := range oracles {
		functions = append(functions, o.cosets[0]...)
	}
	points, factors := make(field.Vector, len(group)), make(field.Vector, len(group))
	s := g.shift(0)
	sn, scale := field.Pow(s, uint64(g.rows)), field.New(uint64(g.rows))
	scale.Mul(&scale, &sn).Inverse(&scale)
	scale.Mul(&scale, &s)
	for n, index := range group {
		points[n] = g.At(index)
		factors[n] = field.Pow(points[n], uint64(g.rows))
		factors[n].Sub(&factors[n], &sn).Mul(&factors[n], &scale)
	}
	s.Neg(&s)
	rows := min(lagrangeBlock, g.rows)
	parts := make([][]field.Ext, g.rows/rows)
	r.parallel(len(parts), func(block int) {
		low, high := block*rows, (block+1)*rows
		weights := field.NewPlanar(rows)
		for n := range group {
			v := weights[n]
			v.ScalarMul(g.powers[low:high], &s)
			field.AddScalar(v, v, points[n])
			field.Invert(v)
			v.Mul(v, g.powers[low:high])
			v.ScalarMul(v, &factors[n])
		}
		parts[block] = make([]field.Ext, len(functions))
		for k, f := range functions {
			parts[block][k] = field.InnerProducts(f[low:high], &weights)
		}
	})
	for _, part := range parts[1:] {
		for k := range part {
			parts[0][k].Add(&parts[0][k], &part[k])
		}
	}
	return parts[0]
}
