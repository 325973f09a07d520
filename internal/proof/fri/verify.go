package fri

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

// Commitment is what a prover has bound itself to before queries are drawn.
type Commitment struct {
	parameters Parameters
	domain     Domain
	roots      []merkle.Digest
	betas      []field.Ext
	final      []field.Ext // coefficients of the last polynomial, the constant first
}

// ReadCommitment reads the layers' roots and the final polynomial's coefficients for a polynomial of 2^log
// coefficients, absorbing each and drawing the challenges.
func (p Parameters) ReadCommitment(log int, r *transcript.Reader, t *transcript.Transcript) (*Commitment, error) {
	c := &Commitment{parameters: p, domain: p.Domain(log)}
	for range p.Layers(log) {
		root, err := r.Digest()
		if err != nil {
			return nil, err
		}
		t.Absorb(root[:])
		c.roots = append(c.roots, root)
		c.betas = append(c.betas, t.Ext())
	}
	var err error
	if c.final, err = r.Ext(1 << (log - logFold*len(c.roots))); err != nil {
		return nil, err
	}
	t.AbsorbExt(c.final)
	return c, nil
}

// Verify reads the layers' openings and checks that the values at indices lead to the final polynomial. indices must
// not be empty and ascend without repetition; both slices stay as they are.
func (c *Commitment) Verify(indices []int, values []field.Ext, r *transcript.Reader) error {
	domain := c.domain
	for l := range c.roots {
		opened := domain.group(indices, values)
		leaves := make([]merkle.Digest, len(opened))
		indices, values = make([]int, len(opened)), make([]field.Ext, len(opened))
		inverses := make(field.Vector, len(opened))
		for k := range opened {
			o := &opened[k]
			if err := o.read(r); err != nil {
				return err
			}
			indices[k], leaves[k] = o.leaf, merkle.Leaf(o.row())
			inverses[k] = domain.At(domain.index(o.leaf, 0))
		}
		next := domain.eighthPowers()
		if err := merkle.Verify(&c.roots[l], next.Log+next.LogBlowup, indices, leaves, r.Digest); err != nil {
			return err
		}
		field.Invert(inverses)
		folder := newFolder(c.betas[l])
		for k := range opened {
			values[k] = folder.fold(&opened[k].values, inverses[k])
		}
		domain = next
	}
	final := newPolynomial(c.final)
	for k, index := range indices {
		if y := final.at(domain.At(index)); !y.Equal(&values[k]) {
			return ErrFinal
		}
	}
	return nil
}

// read reads the values that are not known.
func (o *opening) read(r *transcript.Reader) error {
	for slot, known := range o.known {
		if known {
			continue
		}
		v, err := r.Ext(1)
		if err != nil {
			return err
		}
		o.values[slot] = v[0]
	}
	return nil
}

// polynomial has the coordinates of its coefficients, the constant's first.
type polynomial [field.Degree]field.Vector

func newPolynomial(coefficients []field.Ext) (p polynomial) {
	for c := range p {
		p[c] = make(field.Vector, len(coefficients))
	}
	for i := range coefficients {
		for c, x := range field.Coordinates(&coefficients[i]) {
			p[c][i] = x
		}
	}
	return p
}

// at returns the polynomial's value at x.
func (p *polynomial) at(x field.Element) field.Ext {
	powers := make(field.Vector, len(p[0]))
	field.Powers(powers, field.New(1), x)
	var y [field.Degree]field.Element
	for c := range y {
		y[c] = p[c].InnerProduct(powers)
	}
	return field.FromCoordinates(y)
}
