package types

import "github.com/cairn-chain/cairn/codec"

// MaxListSiblings is the maximum number of siblings in an [InclusionProof]: a block has fewer than 2^18 transactions.
const MaxListSiblings = 18

// InclusionProof shows that a leaf stands under a header's transactions or receipts root. It does not say which of the
// two.
type InclusionProof struct {
	Number   uint32 // of the transaction in its block, from 0
	N        uint32 // number of transactions in the block
	Leaf     [32]byte
	Siblings [][32]byte // from the leaf up
}

// Encode returns bincode(InclusionProof).
func (p InclusionProof) Encode() []byte {
	e := codec.NewEncoder(4 + 4 + 32 + 8 + 32*len(p.Siblings))
	e.U32(p.Number)
	e.U32(p.N)
	e.Fixed(p.Leaf[:])
	e.U64(uint64(len(p.Siblings)))
	for i := range p.Siblings {
		e.Fixed(p.Siblings[i][:])
	}
	return e.Data()
}

// DecodeInclusionProof decodes the output of [InclusionProof.Encode]. It does not check whether the proof holds.
func DecodeInclusionProof(b []byte) (InclusionProof, error) {
	d := codec.NewDecoder(b)
	p := InclusionProof{Number: d.U32(), N: d.U32()}
	d.Fixed(p.Leaf[:])
	p.Siblings = make([][32]byte, d.Length(MaxListSiblings, 32))
	for i := range p.Siblings {
		d.Fixed(p.Siblings[i][:])
	}
	return p, d.Finish()
}
