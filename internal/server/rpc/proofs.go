package rpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Proofs gives access to the blocks' proofs and to the queue of unproven blocks: a *proving.Queue.
type Proofs interface {
	Bundle(types.Height) (blockproof.Bundle, error)
	Range(span blockproof.Span, count func(bytes int) error) (blockproof.Range, error)
	Status(types.Height) (state proving.State, position uint64, err error)
	Verify(height types.Height, proof []byte, atLeast int) (bits int, err error)
	Changed() <-chan struct{}
}

type proofHandlers struct {
	files    *files
	ranges   *files // serves one at a time: each joins up to thousands of lists
	chain    proofStore
	proofs   Proofs
	circuit  types.Digest
	verdicts *admission.Lane // lane for verifying proofs
}

func newProofHandlers(c Config, f *files) *proofHandlers {
	return &proofHandlers{
		files:    f,
		ranges:   f.in(c.Admission.Long().Kind(1, 0)),
		chain:    c.Chain,
		proofs:   c.Proofs,
		circuit:  blockproof.Circuit().Digest(),
		verdicts: c.Admission.Long().Kind(1, 0),
	}
}

func (h *proofHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetProof, h.getProof),
		bind(e, api.VerifyProof, h.verifyProof).in(h.verdicts),
		bind(e, api.GetAccessList, h.getAccessList),
	}
}

// leastProofBits is the security in bits that a valid proof must have.
const leastProofBits = 100

// atOrBelowHead returns the height of a block, which must not be above the head.
func (h *proofHandlers) atOrBelowHead(block api.BlockRef) (types.Height, error) {
	head := h.chain.Head().Header.Height
	height := block.Resolve(head)
	if height > head {
		return 0, withData(api.ErrAboveHead, "param", "block", "max", head)
	}
	return height, nil
}

func (h *proofHandlers) getProof(_ context.Context, p api.GetProofParams) (api.BlockProof, error) {
	height, err := h.atOrBelowHead(p.Block)
	if err != nil {
		return api.BlockProof{}, err
	}
	bundle, err := h.bundle(height)
	if err != nil {
		return api.BlockProof{}, err
	}
	statement, err := blockproof.NewStatement(&bundle.Parent.Header, &bundle.Header.Header, bundle.Accesses)
	if err != nil {
		return api.BlockProof{}, err
	}
	bits, err := blockproof.Bits(bundle.Proof)
	return api.BlockProof{
		Height:         height,
		StateRoot:      statement.PostRoot,
		Proof:          bundle.Proof,
		Type:           api.ProofType,
		Statement:      api.StatementS1,
		SecurityBits:   uint32(bits),
		StateHashBits:  api.StateHashBits,
		PreRoot:        statement.PreRoot,
		AccessesDigest: statement.AccessesDigest,
		Circuit:        h.circuit,
		BlockHash:      statement.BlockHash,
	}, err
}

// bundle returns a block's bundle, or the reason why there is no proof.
func (h *proofHandlers) bundle(height types.Height) (blockproof.Bundle, error) {
	bundle, err := h.proofs.Bundle(height)
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) {
		err = h.noProof(height)
	}
	return bundle, err
}

// noProof returns the reason why a block has no proof.
func (h *proofHandlers) noProof(height types.Height) error {
	state, position, err := h.proofs.Status(height)
	switch {
	case err != nil:
		return err
	case state == proving.NotStored || state == proving.Proven: // proven meanwhile, and removed again
		stored, err := h.chain.Proofs()
		if errors.Is(err, chain.ErrNotFound) {
			return api.ErrProofNotStored
		}
		if err != nil {
			return err
		}
		e := withData(api.ErrProofNotStored, "oldest", stored.Oldest, "newest", stored.Newest)
		e.Message = fmt.Sprintf("%s: this node has the proofs of blocks %d to %d", e.Message, stored.Oldest, stored.Newest)
		return e
	default:
		e := withData(api.ErrProofNotReady, "status", string(state), "position", position)
		e.Message = fmt.Sprintf("%s: the block is %s, %d blocks come before it", e.Message, state, position)
		return e
	}
}

func (h *proofHandlers) verifyProof(_ context.Context, p api.VerifyProofParams) (api.ProofVerdict, error) {
	height, err := h.atOrBelowHead(p.Block)
	if err != nil {
		return api.ProofVerdict{}, err
	}
	verdict := api.ProofVerdict{Statement: api.StatementS1}
	bits, err := h.proofs.Verify(height, p.Proof, leastProofBits)
	verdict.Valid, verdict.SecurityBits = err == nil, uint32(bits)
	switch {
	case errors.Is(err, chain.ErrNotFound):
		verdict.Reason, err = new("this block has nothing to prove"), nil
	case errors.Is(err, blockproof.ErrProof):
		// The verifier's detail is for people: the byte or the segment.
		_, detail, _ := strings.Cut(err.Error(), blockproof.ErrProof.Error())
		verdict.Reason, err = new("the proof does not hold"+detail), nil
	}
	return verdict, err
}

func (h *proofHandlers) getAccessList(_ context.Context, p api.GetAccessListParams) (api.AccessList, error) {
	height, err := h.atOrBelowHead(p.Block)
	if err != nil {
		return api.AccessList{}, err
	}
	accesses, err := h.chain.Accesses(height)
	if err != nil {
		return api.AccessList{}, err
	}
	encoded, from := types.EncodeAccesses(accesses), 0
	if p.Cursor != "" {
		if from, err = strconv.Atoi(p.Cursor); err != nil || from <= 0 || from >= len(encoded) {
			return api.AccessList{}, withData(api.ErrBadCursor, "param", "cursor")
		}
	}
	to := min(from+api.AccessListBytes, len(encoded))
	list := api.AccessList{Height: height, Data: encoded[from:to]}
	if to < len(encoded) {
		next := strconv.Itoa(to)
		list.Cursor = &next
	}
	return list, nil
}

// withMessage returns a copy of e with a longer message.
func withMessage(e *jsonrpc.Error, more string) *jsonrpc.Error {
	said := *e
	said.Message += ": " + more
	return &said
}
