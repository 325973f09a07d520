package api_test

import (
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

func TestAccountProofMerkle(t *testing.T) {
	data := func(b ...byte) *api.Data { return new(api.Data(b)) }
	long := data(make([]byte, 32)...)
	(*long)[31] = 9
	p := api.AccountProof{Key: api.Data{1}, Value: data(2), Siblings: []types.StateRoot{{3}}, End: api.ProofEnd{Type: api.EndLeaf}}
	want := types.MerkleProof{Key: []byte{1}, Value: []byte{2}, Siblings: [][32]byte{{3}}}
	if got, err := p.Merkle(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a leaf: got %+v, want %+v, error %v", got, want, err)
	}
	p.Value, want.Value = nil, nil
	p.End, want.End = api.ProofEnd{Type: api.EndEmpty}, types.ProofEnd{Kind: types.EndEmpty}
	if got, err := p.Merkle(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("nothing: got %+v, want %+v, error %v", got, want, err)
	}
	p.End = api.ProofEnd{Type: api.EndOther, Path: long, ValueHash: long}
	want.End = types.ProofEnd{Kind: types.EndOther, Path: [32]byte{31: 9}, ValueHash: [32]byte{31: 9}}
	if got, err := p.Merkle(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("another leaf: got %+v, want %+v, error %v", got, want, err)
	}
	for name, end := range map[string]api.ProofEnd{
		"none":            {},
		"unknown":         {Type: "bush"},
		"without a path":  {Type: api.EndOther, ValueHash: long},
		"without a value": {Type: api.EndOther, Path: long},
		"a short path":    {Type: api.EndOther, Path: data(1), ValueHash: long},
	} {
		p.End = end
		if _, err := p.Merkle(); err == nil {
			t.Errorf("an end that is %s: no error", name)
		}
	}
}
