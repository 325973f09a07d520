package fri

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

// Parallel runs f(i) for each i below n, in any order and at any time, and returns when all have returned.
type Parallel func(n int, f func(i int))

// Layers are what a prover keeps to answer queries.
type Layers struct {
	domain Domain
	values []field.ExtVector // on the layer's domain
	trees  []*merkle.Tree
}

// leafBlock is how many leaves one call hashes or folds.
const leafBlock = 1 << 8

// Commit folds the polynomial of 2^log coefficients whose values on the domain are f, and appends what ReadCommitment
// reads. It keeps f.
func (p Parameters) Commit(log int, f field.ExtVector, proof []byte, t *transcript.Transcript, parallel Parallel) (*Layers, []byte) {
	l := &Layers{domain: p.Domain(log)}
	domain := l.domain
	for range p.Layers(log) {
		next := domain.eighthPowers()
		count := 1 << (next.Log + next.LogBlowup)
		block := min(count, leafBlock)
		nodes := make([]merkle.Digest, 2*count)
		parallel(count/block, func(i int) { domain.hashLeaves(nodes[count+i*block:count+(i+1)*block], f, i*block) })
		tree := merkle.New(nodes, parallel)
		l.values, l.trees = append(l.values, f), append(l.trees, tree)
		root := tree.Root()
		proof = append(proof, root[:]...)
		t.Absorb(root[:])

		folder, inverses := newFolder(t.Ext()), domain.inverses(next.Log)
		folded := make(field.ExtVector, count)
		parallel(count/block, func(i int) {
			for leaf := i * block; leaf < (i+1)*block; leaf++ {
				values := domain.leafValues(f, leaf)
				folded[leaf] = folder.fold(&values, inverses[leaf])
			}
		})
		f, domain = folded, next
	}
	final := interpolate(domain, f)
	t.AbsorbExt(final)
	for i := range final {
		proof = field.AppendExt(proof, &final[i])
	}
	return l, proof
}

// leafValues returns the values that a leaf of the layer holds.
func (d Domain) leafValues(f field.ExtVector, leaf int) (v [Fold]field.Ext) {
	for slot := range v {
		v[slot] = f[d.index(leaf, slot)]
	}
	return v
}

// hashLeaves sets dst to the leaves of the layer from first on.
func (d Domain) hashLeaves(dst []merkle.Digest, f field.ExtVector, first int) {
	words, content := make([]uint32, (1+Fold*field.Degree)*len(dst)), make(field.Vector, Fold*field.Degree*len(dst))
	for i := range dst {
		words[i] = merkle.Tag
		for slot, v := range d.leafValues(f, first+i) {
			for c, x := range field.Coordinates(&v) {
				content[(slot*field.Degree+c)*len(dst)+i] = x
			}
		}
	}
	field.Canonical(words[len(dst):], content)
	merkle.Leaves(dst, words)
}

// inverses returns those of the points at the first 2^log indices of each of the domain's cosets.
func (d Domain) inverses(log int) field.Vector {
	n := 1 << log
	v := make(field.Vector, n<<d.LogBlowup)
	for j := range 1 << d.LogBlowup {
		first, step := d.At(j<<d.Log), field.Pow(d.Root, 1<<d.LogBlowup)
		field.Powers(v[j*n:(j+1)*n], *first.Inverse(&first), *step.Inverse(&step))
	}
	return v
}

// interpolate returns the coefficients of the polynomial of which f's first coset holds the values.
func interpolate(d Domain, f field.ExtVector) field.ExtVector {
	n := 1 << d.Log
	v := append(field.ExtVector{}, f[:n]...)
	field.NewDomain(d.Log).InterpolateExt(v)
	field.BitReverse(v)
	inverse, powers := d.Shift, make(field.Vector, n)
	field.Powers(powers, field.New(1), *inverse.Inverse(&inverse))
	v.MulByElement(v, powers)
	return v
}

// AppendOpenings appends what Verify reads for the queries at indices, which ascend without repetition.
func (l *Layers) AppendOpenings(proof []byte, indices []int) []byte {
	domain := l.domain
	for k, tree := range l.trees {
		opened := domain.group(indices, make([]field.Ext, len(indices)))
		indices = make([]int, len(opened))
		for i, o := range opened {
			indices[i] = o.leaf
			for slot, known := range o.known {
				if !known {
					proof = field.AppendExt(proof, &l.values[k][domain.index(o.leaf, slot)])
				}
			}
		}
		proof = tree.AppendOpening(proof, indices)
		domain = domain.eighthPowers()
	}
	return proof
}
