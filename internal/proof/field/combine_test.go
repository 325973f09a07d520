package field

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// extremes are words that make the largest products, and some others.
func extremes(r *rand.Rand, n int) Vector {
	v := make(Vector, n)
	for i := range v {
		switch r.IntN(3) {
		case 0:
			v[i] = Element{P - 1} // the largest word
		case 1:
			v[i] = Element{uint32(r.IntN(2))}
		default:
			v[i] = Element{r.Uint32N(P)}
		}
	}
	return v
}

func planar(r *rand.Rand, n int) (p Planar) {
	for c := range p {
		p[c] = extremes(r, n)
	}
	return p
}

// TestCombine compares Combine and InnerProducts with single multiplications in E, for numbers of rows and columns
// around the kernels' blocks.
func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{1, 15, 16, 17, 64, 65, 160, 257} {
		for _, count := range []int{0, 1, 2, 3, 7, 40} {
			t.Run(fmt.Sprintf("%d rows, %d columns", rows, count), func(t *testing.T) {
				dst, values := planar(r, rows), planar(r, count)
				columns, weights := make([]Vector, count), make([]Ext, count)
				for k := range columns {
					columns[k], weights[k] = extremes(r, rows), values.At(k)
				}
				want := make([]Ext, rows)
				for i := range want {
					want[i] = dst.At(i)
					for k := range columns {
						var product Ext
						product.MulByElement(&weights[k], &columns[k][i])
						want[i].Add(&want[i], &product)
					}
				}
				Combine(&dst, columns, NewWeights(weights))
				for i := range want {
					if got := dst.At(i); got != want[i] {
						t.Fatalf("row %d: %v, want %v", i, got, want[i])
					}
				}
				for _, column := range columns {
					var sum Ext
					for i := range column {
						product := dst.At(i)
						product.MulByElement(&product, &column[i])
						sum.Add(&sum, &product)
					}
					if got := InnerProducts(column, &dst); got != sum {
						t.Fatalf("inner product %v, want %v", got, sum)
					}
				}
			})
		}
	}
}

// TestCombineScalar compares the code for other processors with the kernel's results.
func TestCombineScalar(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const rows, count = 200, 9
	dst, values := planar(r, rows), planar(r, count)
	columns, weights := make([]Vector, count), make([]Ext, count)
	for k := range columns {
		columns[k], weights[k] = extremes(r, rows), values.At(k)
	}
	var scalar Planar
	for c := range scalar {
		scalar[c] = append(Vector{}, dst[c]...)
	}
	Combine(&dst, columns, NewWeights(weights))
	for low := 0; low < rows; low += tile {
		combineTile(&scalar, columns, NewWeights(weights), low, min(low+tile, rows))
	}
	for i := range rows {
		if dst.At(i) != scalar.At(i) {
			t.Fatalf("row %d differs", i)
		}
	}
}

// TestLargestSums adds up the largest possible words, of which a carry would be lost first.
func TestLargestSums(t *testing.T) {
	const rows = 2*tile + 3
	largest := Element{P - 1}
	var weight [Degree]Element
	column, all := make(Vector, rows), NewPlanar(rows)
	for c := range weight {
		weight[c] = largest
	}
	for i := range column {
		column[i] = largest
		for c := range all {
			all[c][i] = largest
		}
	}
	w := FromCoordinates(weight)
	var product, sum Ext
	product.MulByElement(&w, &largest)
	for count := range 12 {
		columns, weights := make([]Vector, count), make([]Ext, count)
		want := w
		for k := range columns {
			columns[k], weights[k] = column, w
			want.Add(&want, &product)
		}
		var dst Planar
		for c := range dst {
			dst[c] = slices.Clone(all[c])
		}
		for low := 0; low < rows; low += tile {
			combineTile(&dst, columns, NewWeights(weights), low, min(low+tile, rows))
		}
		for i := range rows {
			if dst.At(i) != want {
				t.Fatalf("%d columns: row %d is another", count, i)
			}
		}
	}
	for n := range rows {
		var sums [Degree]uint64
		addProducts(&sums, column[:n], &all, rows-n)
		var e [Degree]Element
		for c := range e {
			e[c] = reduce(sums[c])
		}
		if FromCoordinates(e) != sum {
			t.Fatalf("the inner product of %d rows is another", n)
		}
		sum.Add(&sum, &product)
	}
}

func TestAddScalar(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 15, 16, 33, 100} {
		v, x := extremes(r, n), extremes(r, 1)[0]
		got := make(Vector, n)
		AddScalar(got, v, x)
		for i := range v {
			var want Element
			if want.Add(&v[i], &x); got[i] != want {
				t.Fatalf("%d of %d: %v + %v = %v, want %v", i, n, v[i], x, got[i], want)
			}
		}
	}
}

func BenchmarkCombine(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows, count = 1024, 64
	dst, values := planar(r, rows), planar(r, count)
	columns, weights := make([]Vector, count), make([]Ext, count)
	for k := range columns {
		columns[k], weights[k] = extremes(r, rows), values.At(k)
	}
	w := NewWeights(weights)
	b.Run("combine", func(b *testing.B) {
		for b.Loop() {
			Combine(&dst, columns, w)
		}
	})
	b.Run("inner products", func(b *testing.B) {
		for b.Loop() {
			for _, column := range columns {
				InnerProducts(column, &dst)
			}
		}
	})
	b.Run("products one by one", func(b *testing.B) {
		sum := make(ExtVector, rows)
		for b.Loop() {
			for k := range columns {
				sum.ScalarMulAccByElement(columns[k], &weights[k])
			}
		}
	})
}

// TestPlanar compares products and inverses with those of single elements, including zeros and elements of subfields.
func TestPlanar(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 3, 16, 33, 64, 128, 200, 512} {
		for _, zeros := range []bool{false, true} {
			x, y := planar(r, n), planar(r, n)
			if zeros {
				x.Set(n/2, &Ext{})
				y.Set(0, &Ext{})
			}
			for c := 1; c < Degree; c++ {
				x[c][n-1] = Element{}
			}
			a, b := make(ExtVector, n), make(ExtVector, n)
			for i := range a {
				a[i], b[i] = x.At(i), y.At(i)
			}
			MulPlanar(&y, &x, &y)
			InvertPlanar(&x, &x)
			for i := range a {
				b[i].Mul(&a[i], &b[i])
			}
			InvertExt(a)
			for i := range a {
				if x.At(i) != a[i] || y.At(i) != b[i] {
					t.Fatalf("%d of %d: inverse %v and product %v, want %v and %v", i, n, x.At(i), y.At(i), a[i], b[i])
				}
			}
		}
	}
}

func TestInvert(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, 63, 64, 65, 96, 512} {
		for _, zero := range []int{-1, 0, n - 1} {
			v := make(Vector, n)
			for i := range v {
				if v[i] = New(1 + r.Uint64N(P-1)); i == zero {
					v[i] = Element{}
				}
			}
			inverses := append(Vector{}, v...)
			Invert(inverses)
			for i := range v {
				var want Element
				if want.Inverse(&v[i]); inverses[i] != want {
					t.Fatalf("inverse %d of %d is %v, want %v", i, n, inverses[i], want)
				}
			}
		}
	}
}
