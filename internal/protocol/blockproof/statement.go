// Package blockproof is statement S1 of block proofs: a block's access list, every key that its execution read or
// wrote with the value before and after, is exactly right. Each old value or absence stood under the state root before
// the block, and changing just these gives the state root after it. docs/proofs.md describes statement, circuit and
// format.
//
// [Trace] makes what a prover needs, [EncodeProof] puts proofs of the segments together, and [VerifyProof] and
// [Bundle.Verify] check them.
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
var ErrStatement = errors.New("blockproof: the statement does not hold")

// Statement is what a proof is about.
type Statement struct {
	ChainID           uint64
	Height            types.Height
	BlockHash         types.BlockHash
	PreRoot, PostRoot types.StateRoot
	AccessesDigest    types.Digest // types.DigestAccesses
	since             *since       // where a range begins; nil is a block's
}

// NewStatement is the statement about the block of header, which follows parent, and its accesses. It returns an error
// that wraps ErrStatement where they contradict each other: header must follow parent, and the writes among accesses
// must be those of header.
func NewStatement(parent, header *types.Header, accesses []types.Access) (Statement, error) {
	switch {
	case !follows(parent, header):
		return Statement{}, fmt.Errorf("%w: the header does not follow its parent", ErrStatement)
	case types.DigestWrites(accesses) != header.WritesDigest:
		return Statement{}, fmt.Errorf("%w: the writes among the accesses are not the header's", ErrStatement)
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

// check holds the statement to its accesses.
func (s *Statement) check(accesses []types.Access) error {
	if types.DigestAccesses(accesses) != s.AccessesDigest {
		return fmt.Errorf("%w: the accesses have another digest", ErrStatement)
	}
	return nil
}

// part is what a proof says about a segment beside the argument itself.
type part struct {
	levels []uint8         // where each of its entries stands, in the order of paths
	others []other         // leaves that no access of the segment has the path of, ascending by path
	steps  []uint32        // how many rows look up the step of each level from 0 on; the last is not 0
	after  poseidon.Digest // the root after it
}

// other is a leaf that a segment shows where it stands.
type other struct {
	level           uint8
	path, valueHash poseidon.Digest
}

// chain is the place of a segment in its chain.
type chain struct {
	index, segments int
	accesses, low   int             // of the whole list, and of those before the segment
	before          poseidon.Digest // the root before the segment
}

// instance is what the segment's argument is about; the public inputs are the roots before and after. entries are the
// segment's.
func (s *Statement) instance(c chain, entries []entry, p *part) stark.Statement {
	e := codec.NewEncoder(256 + len(p.levels) + 65*len(p.others) + 4*len(p.steps))
	if s.since == nil {
		e.String("cairn/blockproof/S1")
		e.U64(s.ChainID)
	} else {
		e.String("cairn/blockproof/R1")
		e.U64(s.ChainID)
		e.U64(uint64(s.since.height))
		e.Fixed(s.since.hash[:])
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

// elementsOf returns the eight elements of each of the digests.
func elementsOf(digests ...*poseidon.Digest) field.Vector {
	words := make([]uint32, 0, digestSize*len(digests))
	for _, d := range digests {
		words = append(words, d[:]...)
	}
	return field.Integers(words)
}

// terms is the public side: it receives the positions of entries and other leaves, and the steps.
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

// receiver gathers a public side.
type receiver struct {
	terms []air.Term // without their tuples
	words []uint32   // the tuples, one after the other
}

// receive receives the tuple that was put at the end of words.
func (r *receiver) receive(bus air.Bus, times uint64) {
	m := field.New(times)
	m.Neg(&m)
	r.terms = append(r.terms, air.Term{Bus: bus, Multiplicity: m})
}

// receivePosition receives the position at level on the way of path, with just the given leaves before and after the
// segment; a zero digest is none.
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

// encode writes the part: the entries' levels, the other leaves, the steps and the root after.
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
