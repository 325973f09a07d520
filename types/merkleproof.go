package types

import "github.com/cairn-chain/cairn/codec"

// MaxStateSiblings is the maximum number of siblings in a [MerkleProof]: the number of bits of a path.
const MaxStateSiblings = 248

// MerkleProof shows the value of a state key, or its absence, under a state root.
type MerkleProof struct {
	Key      []byte
	Value    []byte     // empty: the key is absent
	Siblings [][32]byte // on the way to the key, the root's child first
	End      ProofEnd
}

// ProofEnd is the content of the position at which the way to a key ends.
type ProofEnd struct {
	Kind      EndKind
	Path      [32]byte // only with EndOther
	ValueHash [32]byte // only with EndOther
}

// EndKind is a kind of [ProofEnd].
type EndKind uint32

// Kinds of ends.
const (
	EndLeaf  EndKind = iota // the key's leaf
	EndEmpty                // nothing: the key is absent
	EndOther                // another key's leaf, alone below the position: the key is absent
	endKinds
)

// Encode returns bincode(MerkleProof).
func (p MerkleProof) Encode() []byte {
	e := codec.NewEncoder(8 + len(p.Key) + 8 + len(p.Value) + 8 + 32*len(p.Siblings) + 4 + 64)
	e.Bytes(p.Key)
	e.Bytes(p.Value)
	e.U64(uint64(len(p.Siblings)))
	for i := range p.Siblings {
		e.Fixed(p.Siblings[i][:])
	}
	e.U32(uint32(p.End.Kind))
	if p.End.Kind == EndOther {
		e.Fixed(p.End.Path[:])
		e.Fixed(p.End.ValueHash[:])
	}
	return e.Data()
}

// DecodeMerkleProof decodes the output of [MerkleProof.Encode]. It does not check whether the proof holds. Byte fields
// alias b.
func DecodeMerkleProof(b []byte) (MerkleProof, error) {
	d := codec.NewDecoder(b)
	p := MerkleProof{Key: d.Bytes(maxStateKeyBytes), Value: d.Bytes(MaxStorageValueBytes)}
	p.Siblings = make([][32]byte, d.Length(MaxStateSiblings, 32))
	for i := range p.Siblings {
		d.Fixed(p.Siblings[i][:])
	}
	if p.End.Kind = EndKind(d.Variant(uint32(endKinds))); p.End.Kind == EndOther {
		d.Fixed(p.End.Path[:])
		d.Fixed(p.End.ValueHash[:])
	}
	return p, d.Finish()
}

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
