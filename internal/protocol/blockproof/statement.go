// Package blockproof implements statement S1 of block proofs: a block's access list, which has every key that its
// execution read or wrote with the value before and after, is exactly right. Each old value, or absence, is under the
// state root before the block, and changing exactly these values gives the state root after it. docs/proofs.md
// describes the statement, the circuit and the format.
//
// [Trace] makes the input of a prover, [EncodeProof] encodes the proofs of the segments as one, and [VerifyProof] and
// [Bundle.Verify] check proofs.
package blockproof

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/types"
)

// ErrStatement is returned for a statement that does not fit its accesses or headers.
var ErrStatement = errors.New("blockproof: the statement is invalid")

// Statement is the statement of a proof.
type Statement struct {
	ChainID           uint64
	Height            types.Height
	BlockHash         types.BlockHash
	PreRoot, PostRoot types.StateRoot
	AccessesDigest    types.Digest // types.DigestAccesses
	since             *since       // start of a range; nil for a block
}

// NewStatement returns the statement about the block of header, which follows parent, and its accesses. It returns an
// error that wraps ErrStatement if header does not follow parent.
func NewStatement(parent, header *types.Header, accesses []types.Access) (Statement, error) {
	if !follows(parent, header) {
		return Statement{}, fmt.Errorf("%w: the header does not follow its parent", ErrStatement)
	}
	return Statement{
		ChainID:        header.ChainID,
		Height:         header.Height,
		BlockHash:      header.Hash(),
		PreRoot:        parent.StateRoot,
		PostRoot:       header.StateRoot,
		AccessesDigest: types.DigestAccesses(accesses),
	}, nil
}

// check checks that the statement is about these accesses.
func (s *Statement) check(accesses []types.Access) error {
	if types.DigestAccesses(accesses) != s.AccessesDigest {
		return fmt.Errorf("%w: the accesses have a different digest", ErrStatement)
	}
	return nil
}

// part is the data of a segment in a proof, besides the argument.
type part struct {
	levels []uint8         // level of each entry's position, in the order of paths
	others []other         // leaves whose paths no access of the segment has, ascending by path
	steps  []uint32        // number of rows that look up the step of each level from 0 on; the last is not 0
	after  poseidon.Digest // root after the segment
}

// other is a leaf that a segment shows at its position.
type other struct {
	level           uint8
	path, valueHash poseidon.Digest
}

// chain is the place of a segment in the chain of segments.
type chain struct {
	index, segments int
	accesses, low   int             // number in the whole list, and number before the segment
	before          poseidon.Digest // root before the segment
}

// instance returns the statement of the segment's argument. Its public inputs are the roots before and after. entries
// are the segment's.
func (s *Statement) instance(c chain, entries []entry, p *part) stark.Statement {
	e := codec.NewEncoder(256 + len(p.levels) + 65*len(p.others) + 4*len(p.steps))
	if s.since == nil {
		e.String("cairn/blockproof/S1")
		e.U64(s.ChainID)
	} else {
		e.String("cairn/blockproof/R1")
		e.U64(s.ChainID)
		s.since.write(e)
	}
	e.U64(uint64(s.Height))
	e.Fixed(s.BlockHash[:])
	e.Fixed(s.AccessesDigest[:])
	for _, n := range []int{c.index, c.segments, c.accesses, c.low} {
		e.U32(uint32(n))
	}
	before := c.before.Bytes()
	e.Fixed(before[:])
	p.encode(e)
	return stark.Statement{
		Circuit: circuit, Context: e.Data(),
		Public: elementsOf(&c.before, &p.after), Terms: terms(entries, p),
	}
}

// elementsOf returns the eight elements of each digest.
func elementsOf(digests ...*poseidon.Digest) field.Vector {
	words := make([]uint32, 0, digestSize*len(digests))
	for _, d := range digests {
		words = append(words, d[:]...)
	}
	return field.Integers(words)
}

// terms returns the public side: it receives the positions of entries and other leaves, and the steps.
func terms(entries []entry, p *part) []air.Term {
	r := receiver{
		terms: make([]air.Term, 0, len(entries)+len(p.others)+len(p.steps)),
		words: make([]uint32, 0, positionArity*(len(entries)+len(p.others))+stepArity*len(p.steps)),
	}
	for i := range entries {
		r.receivePosition(p.levels[i], &entries[i].path, &entries[i].leaves)
	}
	leaves, pairs := make([]poseidon.Digest, len(p.others)), make([][2]poseidon.Digest, len(p.others))
	for i, o := range p.others {
		pairs[i] = [2]poseidon.Digest{o.path, o.valueHash}
	}
	poseidon.Leaves(leaves, pairs)
	for i, o := range p.others {
		r.receivePosition(o.level, &o.path, &[2]poseidon.Digest{leaves[i], leaves[i]})
	}
	for level, n := range p.steps {
		at := step(level)
		r.words = append(append(r.words, uint32(level)), at[:]...)
		r.receive(steps, uint64(n))
	}
	elements := field.Integers(r.words)
	for i := range r.terms {
		n := r.terms[i].Bus.Arity()
		r.terms[i].Tuple, elements = elements[:n:n], elements[n:]
	}
	return r.terms
}

// receiver collects the terms of a public side.
type receiver struct {
	terms []air.Term // terms without their tuples
	words []uint32   // the tuples, one after the other
}

// receive receives the tuple that was appended to words.
func (r *receiver) receive(bus air.Bus, times uint64) {
	m := field.New(times)
	m.Neg(&m)
	r.terms = append(r.terms, air.Term{Bus: bus, Multiplicity: m})
}

// receivePosition receives the position at level on the way of path, with exactly the given leaves before and after the
// segment; a zero digest means that there is none.
func (r *receiver) receivePosition(level uint8, path *poseidon.Digest, leaves *[2]poseidon.Digest) {
	at := prefix(path, int(level))
	r.words = append(append(r.words, uint32(level)), at[:]...)
	for i := range leaves {
		if leaves[i].IsZero() {
			r.words = append(r.words, 1, 0)
		} else {
			r.words = append(r.words, 0, 1)
		}
	}
	r.words = append(append(r.words, leaves[0][:]...), leaves[1][:]...)
	r.receive(positions, 1)
}

// encode encodes the part: the entries' levels, the other leaves, the steps and the root after.
func (p *part) encode(e *codec.Encoder) {
	e.Bytes(p.levels)
	e.U64(uint64(len(p.others)))
	for i := range p.others {
		path, valueHash := p.others[i].path.Bytes(), p.others[i].valueHash.Bytes()
		e.U8(p.others[i].level)
		e.Fixed(path[:])
		e.Fixed(valueHash[:])
	}
	e.U64(uint64(len(p.steps)))
	for _, n := range p.steps {
		e.U32(n)
	}
	root := p.after.Bytes()
	e.Fixed(root[:])
}
