package fri

import (
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

// Parallel calls f(i) for each i below n, in any order and concurrently, and returns when all have returned.
type Parallel func(n int, f func(i int))

// Layers holds the data that a prover needs to answer queries.
type Layers struct {
	domain Domain
	values []*field.Planar // values on each layer's domain
	trees  []*merkle.Tree
}

// leafBlock is the maximum number of leaves that one call hashes or folds.
const leafBlock = 1 << 8

// Commit folds the polynomial of 2^log coefficients whose values on the domain are f, and appends the data that
// ReadCommitment reads. It retains f.
func (p Parameters) Commit(
	log int, f *field.Planar, proof []byte, t *transcript.Transcript, parallel Parallel,
) (*Layers, []byte) {
	l := &Layers{domain: p.Domain(log)}
	domain := l.domain
	for range p.Layers(log) {
		next := domain.eighthPowers()
		count, block := 1<<(next.Log+next.LogBlowup), min(1<<next.Log, leafBlock)
		nodes := make([]merkle.Digest, 2*count)
		parallel(count/block, func(i int) {
			leaves := nodes[count+i*block : count+(i+1)*block]
			hashLeaves(leaves, domain.slots(f, i*block, block))
		})
		tree := merkle.New(nodes, parallel)
		l.values, l.trees = append(l.values, f), append(l.trees, tree)
		root := tree.Root()
		proof = append(proof, root[:]...)
		t.Absorb(root[:])

		folder, inverses, folded := newFolder(t.Ext()), domain.inverses(next.Log), field.NewPlanar(count)
		parallel(count/block, func(i int) {
			part := folded.Slice(i*block, (i+1)*block)
			folder.foldAll(&part, domain.slots(f, i*block, block), inverses[i*block:(i+1)*block])
		})
		f, domain = &folded, next
	}
	final := interpolate(domain, f)
	t.AbsorbExt(final)
	for i := range final {
		proof = field.AppendExt(proof, &final[i])
	}
	return l, proof
}

// slots returns, for each slot, the values in that slot of n leaves of the layer from first on. The leaves must be in
// one coset.
func (d Domain) slots(f *field.Planar, first, n int) *[Fold]field.Planar {
	var slots [Fold]field.Planar
	for slot := range slots {
		at := d.index(first, slot)
		slots[slot] = f.Slice(at, at+n)
	}
	return &slots
}

// hashLeaves sets dst to the hashes of the leaves with the given values.
func hashLeaves(dst []merkle.Digest, slots *[Fold]field.Planar) {
	columns := make([]field.Vector, 0, Fold*field.Degree)
	for slot := range slots {
		columns = append(columns, slots[slot][:]...)
	}
	merkle.Leaves(dst, columns, 0)
}

// foldAll sets dst to the result of fold for each leaf. inverses are the inverses of the leaves' points.
func (f *folder) foldAll(dst *field.Planar, slots *[Fold]field.Planar, inverses field.Vector) {
	n := len(inverses)
	powers, factors, odd := slices.Clone(inverses), make(field.Vector, n), field.NewPlanar(n)
	var v [Fold]field.Planar
	copy(v[:], slots[:])
	for level, half := 0, Fold/2; half >= 1; level, half = level+1, half/2 {
		weights := f.weights(level)
		for t := range half {
			factors.ScalarMul(powers, &f.roots[t<<level])
			sum := v[t]
			if level == 0 {
				sum = field.NewPlanar(n)
			}
			for c := range odd {
				odd[c].Sub(v[t][c], v[t+half][c])
				odd[c].Mul(odd[c], factors)
				sum[c].Add(v[t][c], v[t+half][c])
			}
			field.Combine(&sum, odd[:], weights)
			v[t] = sum
		}
		powers.Mul(powers, powers)
	}
	for c := range dst {
		dst[c].ScalarMul(v[0][c], &f.eighth)
	}
}

// weights returns the weights of an odd part's coordinates at a level. They are doubled, since foldAll does not halve
// sums but divides the final result by eight.
func (f *folder) weights(level int) field.Weights {
	twice := f.beta[level]
	twice.Double(&twice)
	weights := make([]field.Ext, field.Degree)
	for c := range weights {
		weights[c] = field.Basis(c)
		weights[c].Mul(&weights[c], &twice)
	}
	return field.NewWeights(weights)
}

// inverses returns the inverses of the points at the first 2^log indices of each of the domain's cosets.
func (d Domain) inverses(log int) field.Vector {
	n := 1 << log
	v := make(field.Vector, n<<d.LogBlowup)
	for j := range 1 << d.LogBlowup {
		first, step := d.At(j<<d.Log), field.Pow(d.Root, 1<<d.LogBlowup)
		field.Powers(v[j*n:(j+1)*n], *first.Inverse(&first), *step.Inverse(&step))
	}
	return v
}

// interpolate returns the coefficients of the polynomial whose values are in f's first coset.
func interpolate(d Domain, f *field.Planar) field.ExtVector {
	n := 1 << d.Log
	v := make(field.ExtVector, n)
	for i := range v {
		v[i] = f.At(i)
	}
	field.NewDomain(d.Log).InterpolateExt(v)
	field.BitReverse(v)
	inverse, powers := d.Shift, make(field.Vector, n)
	field.Powers(powers, field.New(1), *inverse.Inverse(&inverse))
	v.MulByElement(v, powers)
	return v
}

// AppendOpenings appends the data that Verify reads for the queries at indices, which must ascend without repetition.
func (l *Layers) AppendOpenings(proof []byte, indices []int) []byte {
	domain := l.domain
	for k, tree := range l.trees {
		opened := domain.group(indices, make([]field.Ext, len(indices)))
		indices = make([]int, len(opened))
		for i, o := range opened {
			indices[i] = o.leaf
			for slot, known := range o.known {
				if !known {
					value := l.values[k].At(domain.index(o.leaf, slot))
					proof = field.AppendExt(proof, &value)
				}
			}
		}
		proof = tree.AppendOpening(proof, indices)
		domain = domain.eighthPowers()
	}
	return proof
}
