// Package fri proves that a function on a coset is close to a polynomial of low degree. It implements fast Reed–Solomon
// interactive oracle proofs of proximity (Ben-Sasson, Bentov, Horesh, Riabzev, ICALP 2018) that fold by 8.
//
// Let f have 2^log coefficients and be given on the domain of blowup·2^log points, and write f(x) = Σ x^k·f_k(x^8) for
// k < 8. A layer commits to f by a tree whose leaves hold the eight values at the points with the same x^8. It then
// draws β and continues with Σ β^k·f_k on the domain of the eighth powers. When at most 2^LogFinal coefficients are
// left, they are sent. A query follows one point through the layers to the final polynomial.
package fri

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

const (
	logFold = 3
	// Fold is the number of values in a leaf, and the factor by which a fold reduces the number of coefficients.
	Fold = 1 << logFold
)

// ErrFinal is returned if a query does not end at the final polynomial.
var ErrFinal = errors.New("low-degree test: a query does not match the final polynomial")

// Parameters are the parameters of a proof system that ends in FRI.
type Parameters struct {
	LogBlowup int // the domain has 2^LogBlowup points for each coefficient
	LogFinal  int // folding ends when at most 2^LogFinal coefficients are left; at least 2
	Grinding  int // bits of work before queries are drawn
	Queries   int // number of points drawn, with repetition
}

// Append appends the encoding for a transcript: LogBlowup, the logarithm of the folding factor, LogFinal, Grinding and
// Queries, each as four bytes little-endian.
func (p Parameters) Append(b []byte) []byte {
	for _, v := range []int{p.LogBlowup, logFold, p.LogFinal, p.Grinding, p.Queries} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// Layers returns the number of folds of a polynomial of 2^log coefficients.
func (p Parameters) Layers(log int) int {
	return max(0, (log-p.LogFinal+logFold-1)/logFold)
}

// Indices draws the queries' indices in the domain of 2^log·blowup points. They are returned in ascending order,
// without repetition.
func (p Parameters) Indices(log int, t *transcript.Transcript) []int {
	indices := make([]int, p.Queries)
	for i := range indices {
		indices[i] = t.Index(log + p.LogBlowup)
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// Domain is a coset s·⟨w⟩ of n·B points, n = 2^Log and B = 2^LogBlowup, laid out as B cosets of n points each: the
// point at index j·n + i is s·w^(i·B + j).
type Domain struct {
	Log, LogBlowup int
	Shift          field.Element // s
	Root           field.Element // w
}

// Domain returns the domain on which polynomials of 2^log coefficients are committed to. Its shift is 3.
func (p Parameters) Domain(log int) Domain {
	return Domain{log, p.LogBlowup, field.Shift(), field.RootOfUnity(log + p.LogBlowup)}
}

// At returns the point at index.
func (d Domain) At(index int) field.Element {
	j, i := index>>d.Log, index&(1<<d.Log-1)
	x := field.Pow(d.Root, uint64(i<<d.LogBlowup|j))
	return *x.Mul(&x, &d.Shift)
}

// eighthPowers returns the domain after a fold.
func (d Domain) eighthPowers() Domain {
	return Domain{d.Log - logFold, d.LogBlowup, field.Pow(d.Shift, Fold), field.Pow(d.Root, Fold)}
}

// leaf returns the leaf of the layer on d that holds the value at index, and the value's slot in the leaf. A leaf's
// number is the index of its points' eighth power in the domain after the fold.
func (d Domain) leaf(index int) (leaf, slot int) {
	m := d.Log - logFold
	j, i := index>>d.Log, index&(1<<d.Log-1)
	return j<<m | i&(1<<m-1), i >> m
}

// index is the inverse of leaf.
func (d Domain) index(leaf, slot int) int {
	m := d.Log - logFold
	return leaf>>m<<d.Log | slot<<m | leaf&(1<<m-1)
}

// folder folds the leaves of one layer.
type folder struct {
	beta   [logFold]field.Ext      // β, β², β⁴
	roots  [Fold / 2]field.Element // powers of the inverse of the root of order 8, halved
	half   field.Element
	eighth field.Element
}

func newFolder(beta field.Ext) *folder {
	f := &folder{half: field.New(2)}
	f.half.Inverse(&f.half)
	f.eighth.Square(&f.half).Mul(&f.eighth, &f.half)
	for i := range f.beta {
		f.beta[i] = beta
		beta.Square(&beta)
	}
	root := field.RootOfUnity(logFold)
	root.Inverse(&root)
	field.Powers(f.roots[:], f.half, root)
	return f
}

// fold returns Σ β^k·f_k(x^8) from a leaf's values at x·ζ^t, where ζ is the root of order 8 and inverse is 1/x. It
// folds by two three times, with f_even(x²) = (f(x) + f(−x))/2 and f_odd(x²) = (f(x) − f(−x))/2x. It overwrites v.
func (f *folder) fold(v *[Fold]field.Ext, inverse field.Element) field.Ext {
	var odd field.Ext
	var factor field.Element
	stride := 1 // stride in roots: after each fold the points are squared
	for level, n := 0, Fold/2; n >= 1; level, n = level+1, n/2 {
		for t := range n {
			odd.Sub(&v[t], &v[t+n])
			v[t].Add(&v[t], &v[t+n])
			odd.MulByElement(&odd, factor.Mul(&inverse, &f.roots[t*stride]))
			odd.Mul(&odd, &f.beta[level])
			v[t].MulByElement(&v[t], &f.half)
			v[t].Add(&v[t], &odd)
		}
		inverse.Square(&inverse)
		stride *= 2
	}
	return v[0]
}

// opening is a leaf that queries touch: its values, and which of them the queries supply.
type opening struct {
	leaf   int
	known  [Fold]bool
	values [Fold]field.Ext
}

// group returns the leaves of the layer on d, ascending, that hold the values at indices.
func (d Domain) group(indices []int, values []field.Ext) []opening {
	order := make([]int, len(indices))
	for k := range order {
		order[k] = k
	}
	number := func(k int) int {
		leaf, _ := d.leaf(indices[k])
		return leaf
	}
	slices.SortFunc(order, func(a, b int) int { return number(a) - number(b) })
	var out []opening
	for _, k := range order {
		leaf, slot := d.leaf(indices[k])
		if len(out) == 0 || out[len(out)-1].leaf != leaf {
			out = append(out, opening{leaf: leaf})
		}
		o := &out[len(out)-1]
		o.known[slot], o.values[slot] = true, values[k]
	}
	return out
}

// appendRow appends a leaf's content in its hashed form.
func (o *opening) appendRow(b []byte) []byte {
	for i := range o.values {
		b = field.AppendExt(b, &o.values[i])
	}
	return b
}
