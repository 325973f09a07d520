package rpc

import (
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// newProof renders a Merkle proof (docs/state.md, "Merkle proof").
func newProof(p ledger.Proof) api.AccountProof {
	proof := api.AccountProof{
		Height: p.Height, StateRoot: p.StateRoot, Key: p.Key, Siblings: make([]types.StateRoot, len(p.Merkle.Siblings)),
	}
	if len(p.Value) > 0 {
		value := api.Data(p.Value)
		proof.Value = &value
	}
	for i, sibling := range p.Merkle.Siblings {
		proof.Siblings[i] = sibling.Bytes()
	}
	switch end := p.Merkle.End; end.Kind {
	case tree.EndLeaf:
		proof.End.Type = api.EndLeaf
	case tree.EndEmpty:
		proof.End.Type = api.EndEmpty
	case tree.EndOther:
		path, valueHash := end.Path.Bytes(), end.ValueHash.Bytes()
		pathData, valueData := api.Data(path[:]), api.Data(valueHash[:])
		proof.End = api.ProofEnd{Type: api.EndOther, Path: &pathData, ValueHash: &valueData}
	}
	return proof
}
