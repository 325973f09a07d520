package fri

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

// Commitment is the data that a prover is bound to before queries are drawn.
type Commitment struct {
	parameters Parameters
	domain     Domain
	roots      []merkle.Digest
	betas      []field.Ext
	final      []field.Ext // coefficients of the final polynomial, the constant first
}

// ReadCommitment reads the layers' roots and the final polynomial's coefficients for a polynomial of 2^log
// coefficients. It absorbs each and draws the challenges.
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

// CommitmentSize returns the number of bytes that [Parameters.ReadCommitment] reads.
func (p Parameters) CommitmentSize(log int) int {
	layers := p.Layers(log)
	return layers*len(merkle.Digest{}) + field.ExtSize<<(log-logFold*layers)
}

// MostOpened returns the maximum number of bytes that [Commitment.Verify] reads.
func (p Parameters) MostOpened(log int) (most int) {
	log += p.LogBlowup
	for range p.Layers(log - p.LogBlowup) {
		log -= logFold
		most += p.Queries*(Fold-1)*field.ExtSize + len(merkle.Digest{})*merkle.MostSiblings(p.Queries, log)
	}
	return most
}

// Verify reads the layers' openings and checks that the values at indices lead to the final polynomial. indices must
// not be empty and must ascend without repetition. Neither slice is modified.
func (c *Commitment) Verify(indices []int, values []field.Ext, r *transcript.Reader) error {
	domain := c.domain
	for l := range c.roots {
		opened := domain.group(indices, values)
		if err := read(r, opened); err != nil {
			return err
		}
		rows := make([]byte, 0, len(opened)*Fold*field.ExtSize)
		indices, values = make([]int, len(opened)), make([]field.Ext, len(opened))
		inverses := make(field.Vector, len(opened))
		for k := range opened {
			o := &opened[k]
			indices[k], rows = o.leaf, o.appendRow(rows)
			inverses[k] = domain.At(domain.index(o.leaf, 0))
		}
		next := domain.eighthPowers()
		if err := merkle.Verify(&c.roots[l], next.Log+next.LogBlowup, indices, rows, r.Digest); err != nil {
			return err
		}
		field.Invert(inverses)
		folder := newFolder(c.betas[l])
		for k := range opened {
			values[k] = folder.fold(&opened[k].values, inverses[k])
		}
		domain = next
	}
	final, powers := field.PlanarOf(c.final), make(field.Vector, len(c.final))
	for k, index := range indices {
		field.Powers(powers, field.New(1), domain.At(index))
		if y := field.InnerProducts(powers, final); !y.Equal(&values[k]) {
			return ErrFinal
		}
	}
	return nil
}

// read reads the unknown values of the opened leaves.
func read(r *transcript.Reader, opened []opening) error {
	unknown := 0
	for k := range opened {
		for _, known := range opened[k].known {
			if !known {
				unknown++
			}
		}
	}
	values, err := r.Ext(unknown)
	if err != nil {
		return err
	}
	for k := range opened {
		o := &opened[k]
		for slot, known := range o.known {
			if !known {
				o.values[slot], values = values[0], values[1:]
			}
		}
	}
	return nil
}
