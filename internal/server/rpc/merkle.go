package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/types"
)

// prover proves values in the state.
type prover struct {
	*liveness
	chain   headers
	ledger  Ledger
	reads   *admission.Lane // for calls without a lane of their own
	long    *admission.Lane // for proofs of many keys
	undoing *admission.Lane // for proofs of a past state: many blocks may have to be undone in memory
}

// prove proves a state key after a block. The latest state is as quick as any read; an earlier one waits for its turn,
// within the request's time.
func (p *prover) prove(ctx context.Context, key []byte, block api.BlockRef) (proof ledger.MerkleProof, err error) {
	if err := p.live(block); err != nil {
		return proof, err
	}
	if block == api.Latest() {
		over := p.reads.Run(ctx, func() { proof, err = p.ledger.Prove(key) })
		return proof, errors.Join(over, err)
	}
	head := p.chain.Head().Header.Height
	limited, cancel := context.WithDeadline(ctx, request.Of(ctx).Until())
	defer cancel()
	over := p.undoing.Run(limited, func() { proof, err = p.ledger.ProveAt(limited, block.Resolve(head), key) })
	if err = errors.Join(over, err); errors.Is(err, context.DeadlineExceeded) {
		err = api.ErrTimeUp
	}
	return proof, aboveHead(err, head)
}

// proof proves a state key and renders the proof.
func (p *prover) proof(ctx context.Context, key []byte, block api.BlockRef) (api.AccountProof, error) {
	proof, err := p.prove(ctx, key, block)
	if err != nil {
		return api.AccountProof{}, err
	}
	return newMerkleProof(proof), nil
}

// newMerkleProof renders a Merkle proof (docs/protocol.md, "State tree and proofs").
func newMerkleProof(p ledger.MerkleProof) api.AccountProof {
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
