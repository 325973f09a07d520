package types_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// longest returns proofs at the limits of decoding, one for each kind of end.
func longest() []types.MerkleProof {
	other := types.ProofEnd{Kind: types.EndOther, Path: [32]byte{0xff}, ValueHash: [32]byte{7}}
	return []types.MerkleProof{
		{Key: []byte{}, Value: []byte{}, Siblings: [][32]byte{}, End: types.ProofEnd{Kind: types.EndEmpty}},
		{Key: make([]byte, 289), Value: make([]byte, 16_384), Siblings: make([][32]byte, 248)},
		{Key: []byte{1}, Value: []byte{}, Siblings: [][32]byte{{1}, {2}}, End: other},
	}
}

func TestMerkleProofBytes(t *testing.T) {
	for i, p := range longest() {
		encoded := p.Encode()
		got, err := types.DecodeMerkleProof(encoded)
		if err != nil || !bytes.Equal(got.Key, p.Key) || !bytes.Equal(got.Value, p.Value) ||
			!slices.Equal(got.Siblings, p.Siblings) || got.End != p.End {
			t.Errorf("proof %d: got %+v, error %v", i, got, err)
		}
		for end := range len(encoded) {
			if len(encoded) > 1000 && end%97 > 0 {
				continue
			}
			if _, err := types.DecodeMerkleProof(encoded[:end]); err == nil {
				t.Errorf("proof %d cut to %d bytes decodes", i, end)
			}
		}
		if _, err := types.DecodeMerkleProof(append(encoded, 0)); err == nil {
			t.Errorf("proof %d with a byte more decodes", i)
		}
	}
	p := longest()[1]
	for name, change := range map[string]func(p *types.MerkleProof){
		"key":      func(p *types.MerkleProof) { p.Key = make([]byte, 290) },
		"value":    func(p *types.MerkleProof) { p.Value = make([]byte, 16_385) },
		"siblings": func(p *types.MerkleProof) { p.Siblings = make([][32]byte, 249) },
	} {
		changed := p
		change(&changed)
		if _, err := types.DecodeMerkleProof(changed.Encode()); !errors.Is(err, codec.ErrTooLong) {
			t.Errorf("too long a %s: error %v, want %v", name, err, codec.ErrTooLong)
		}
	}
	unknown := longest()[0].Encode()
	binary.LittleEndian.PutUint32(unknown[len(unknown)-4:], 3)
	if _, err := types.DecodeMerkleProof(unknown); !errors.Is(err, codec.ErrBadVariant) {
		t.Errorf("an end of no kind: error %v, want %v", err, codec.ErrBadVariant)
	}
}

func FuzzDecodeMerkleProof(f *testing.F) {
	for _, p := range longest() {
		f.Add(p.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := types.DecodeMerkleProof(b); err == nil && !bytes.Equal(p.Encode(), b) {
			t.Fatalf("%x encodes again to %x", b, p.Encode())
		}
	})
}
