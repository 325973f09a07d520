package fri

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

func serial(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

var toy = Parameters{LogBlowup: 2, LogFinal: 2, Queries: 6}

func random(r *rand.Rand, n int) []field.Ext {
	v := make([]field.Ext, n)
	for i := range v {
		var c [field.Degree]field.Element
		for j := range c {
			c[j] = field.New(r.Uint64())
		}
		v[i] = field.FromCoordinates(c)
	}
	return v
}

// values evaluates the polynomial with these coefficients on the domain.
func values(d Domain, coefficients []field.Ext) field.ExtVector {
	v := make(field.ExtVector, 1<<(d.Log+d.LogBlowup))
	for i := range v {
		x := d.At(i)
		for k := len(coefficients) - 1; k >= 0; k-- {
			v[i].MulByElement(&v[i], &x)
			v[i].Add(&v[i], &coefficients[k])
		}
	}
	return v
}

// prove returns a proof that f has 2^log coefficients.
func prove(p Parameters, log int, f field.ExtVector) []byte {
	t := transcript.New("test")
	layers, proof := p.Commit(log, field.PlanarOf(f), nil, t, serial)
	return layers.AppendOpenings(proof, p.Indices(log, t))
}

// verify checks a proof about f.
func verify(p Parameters, log int, f field.ExtVector, proof []byte) error {
	t, r := transcript.New("test"), transcript.NewReader(proof)
	c, err := p.ReadCommitment(log, r, t)
	if err != nil {
		return err
	}
	indices := p.Indices(log, t)
	queried := make([]field.Ext, len(indices))
	for k, index := range indices {
		queried[k] = f[index]
	}
	if err := c.Verify(indices, queried, r); err != nil {
		return err
	}
	return r.End()
}

func TestHonestProofs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for log := range 11 {
		f := values(toy.Domain(log), random(r, 1<<log))
		if err := verify(toy, log, f, prove(toy, log, f)); err != nil {
			t.Errorf("2^%d coefficients: error %v", log, err)
		}
	}
}

func TestTooManyCoefficients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for log := range 9 {
		f := values(toy.Domain(log), random(r, 1<<log+1))
		if err := verify(toy, log, f, prove(toy, log, f)); !errors.Is(err, ErrFinal) {
			t.Errorf("2^%d + 1 coefficients: error %v, want %v", log, err, ErrFinal)
		}
	}
}

func TestFoldIsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	coefficients, beta := random(r, 64), random(r, 1)[0]
	d := toy.Domain(6)
	f := values(d, coefficients)
	folded := make([]field.Ext, 8) // Σ β^k·f_k
	power := field.One()
	for k := range Fold {
		for i := range folded {
			var term field.Ext
			term.Mul(&power, &coefficients[Fold*i+k])
			folded[i].Add(&folded[i], &term)
		}
		power.Mul(&power, &beta)
	}
	want, inverses, folder := values(d.eighthPowers(), folded), d.inverses(3), newFolder(beta)
	all, byCoordinate := field.NewPlanar(len(want)), field.PlanarOf(f)
	for first := 0; first < len(want); first += 8 {
		part := all.Slice(first, first+8)
		folder.foldAll(&part, d.slots(byCoordinate, first, 8), inverses[first:first+8])
	}
	for leaf := range want {
		o := opening{leaf: leaf}
		for slot := range o.values {
			index := d.index(leaf, slot)
			if l, s := d.leaf(index); l != leaf || s != slot {
				t.Fatalf("index %d is slot %d of leaf %d, want %d of %d", index, s, l, slot, leaf)
			}
			o.values[slot] = f[index]
		}
		if got := folder.fold(&o.values, inverses[leaf]); !got.Equal(&want[leaf]) {
			t.Fatalf("leaf %d folds to %v, want %v", leaf, &got, &want[leaf])
		}
		if got := all.At(leaf); !got.Equal(&want[leaf]) {
			t.Fatalf("leaf %d folds to %v among others, want %v", leaf, &got, &want[leaf])
		}
	}
}

func TestNoByteMayChange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const log = 6
	f := values(toy.Domain(log), random(r, 1<<log))
	proof := prove(toy, log, f)
	for i := range proof {
		proof[i] ^= 1 << (i % 8)
		if err := verify(toy, log, f, proof); err == nil {
			t.Errorf("byte %d of %d changed: accepted", i, len(proof))
		}
		proof[i] ^= 1 << (i % 8)
	}
	for n := range proof {
		if err := verify(toy, log, f, proof[:n]); err == nil {
			t.Errorf("cut to %d bytes: accepted", n)
		}
	}
	if err := verify(toy, log, f, append(proof, 0)); !errors.Is(err, transcript.ErrLong) {
		t.Errorf("one byte more: error %v, want %v", err, transcript.ErrLong)
	}
	for i := range f { // another function, one of whose values a query reads
		f[i].Double(&f[i])
	}
	if err := verify(toy, log, f, proof); !errors.Is(err, merkle.ErrRoot) {
		t.Errorf("another function: error %v, want %v", err, merkle.ErrRoot)
	}
}

func TestLayers(t *testing.T) {
	p := Parameters{LogFinal: 9}
	for log, want := range map[int]int{0: 0, 9: 0, 10: 1, 12: 1, 13: 2, 15: 2, 16: 3, 17: 3} {
		if got := p.Layers(log); got != want {
			t.Errorf("2^%d coefficients: %d layers, want %d", log, got, want)
		}
	}
}
