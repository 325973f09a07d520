package rpc

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/types"
)

// viewProofHandlers prove the state that view calls read.
type viewProofHandlers struct {
	*prover
	views *viewHandlers
	chain codeStore
}

func (h *viewProofHandlers) methods(e *clientErrors) []method {
	return []method{bind(e, api.GetViewProof, h.getViewProof).waiting().large()}
}

// recorder records the keys of a state that are read, within the limits of a view proof.
type recorder struct {
	state  state.Reader
	keys   map[string]struct{}
	values int // bytes
	err    error
}

// Get implements state.Reader.
func (r *recorder) Get(key []byte) ([]byte, error) {
	value, err := r.state.Get(key)
	if err != nil {
		return nil, err
	}
	if _, known := r.keys[string(key)]; known {
		return value, nil
	}
	r.keys[string(key)] = struct{}{}
	if r.values += len(value); len(r.keys) > api.MaxViewKeys || r.values > api.MaxViewValueBytes {
		r.err = api.ErrViewSize
	}
	return value, r.err
}

// sorted returns the recorded keys in ascending order.
func (r *recorder) sorted() [][]byte {
	keys := make([][]byte, 0, len(r.keys))
	for key := range r.keys {
		keys = append(keys, []byte(key))
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys
}

// viewed is a completed view call with everything that its proof must cover.
type viewed struct {
	header types.SignedHeader
	keys   [][]byte
	codes  []types.CodeHash
}

// make makes a view call and records its reads.
func (h *viewProofHandlers) make(ctx context.Context, p api.GetViewProofParams) (made viewed, err error) {
	v, err := h.views.view(p.Block)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	reads := &recorder{state: v.state, keys: make(map[string]struct{})}
	if _, err := exec.ReadParameters(reads); err != nil {
		return made, err
	}
	outcome, err := v.run(ctx, reads, p.Contract, types.Call{Function: p.Function, Args: p.Args})
	switch {
	case reads.err != nil:
		return made, reads.err
	case err != nil:
		return made, err
	}
	made = viewed{keys: reads.sorted(), codes: outcome.Loaded()}
	made.header, err = h.chain.Header(v.header.Height)
	return made, err
}

// getViewProof makes the call in a turn of the lane of views, and the proof in a turn of the lane of proofs.
func (h *viewProofHandlers) getViewProof(
	ctx context.Context, p api.GetViewProofParams,
) (proof api.ViewProof, err error) {
	if len(p.KnownCodes) > api.MaxKnownCodes {
		return proof, outOfRange("known_codes", 0, api.MaxKnownCodes)
	}
	var made viewed
	over := h.views.executions.lane.Run(ctx, func() { made, err = h.make(ctx, p) })
	if err = errors.Join(over, err); err != nil {
		return proof, err
	}
	reads, err := h.proveAll(ctx, made.header.Header.Height, made.keys)
	if err != nil {
		return proof, err
	}
	proof.Header, proof.Witness = made.header.Encode(), reads.Witness.Encode()
	if len(made.codes) > api.MaxViewCodes || len(proof.Witness) > api.MaxViewWitnessBytes {
		return api.ViewProof{}, api.ErrViewSize
	}
	proof.Values, proof.Codes = newViewValues(reads.Values), []api.Data{}
	for _, hash := range made.codes {
		if slices.Contains(p.KnownCodes, hash) {
			continue
		}
		code, err := h.chain.Code(hash)
		if err != nil {
			return api.ViewProof{}, err
		}
		proof.Codes = append(proof.Codes, code)
	}
	return proof, nil
}

func newViewValues(reads []tree.KeyValue) []api.ViewValue {
	values := make([]api.ViewValue, len(reads))
	for i, v := range reads {
		values[i].Key = v.Key
		if len(v.Value) > 0 {
			values[i].Value = new(api.Data(v.Value))
		}
	}
	return values
}

// proveAll proves keys after a block, as [prover.prove] proves one. If the next block arrives meanwhile, reading has to
// undo it.
func (p *prover) proveAll(ctx context.Context, h types.Height, keys [][]byte) (reads ledger.Reads, err error) {
	lane := p.undoing
	if p.chain.Head().Header.Height == h {
		lane = p.long
	}
	limited, cancel := context.WithDeadline(ctx, request.Of(ctx).Until())
	defer cancel()
	over := lane.Run(limited, func() { reads, err = p.ledger.ProveAll(limited, h, keys) })
	if err = errors.Join(over, err); errors.Is(err, context.DeadlineExceeded) {
		err = api.ErrTimeUp
	}
	return reads, err
}
