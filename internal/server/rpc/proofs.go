package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Proofs are the blocks' proofs and what waits for one: a *proving.Queue.
type Proofs interface {
	Bundle(types.Height) (blockproof.Bundle, error)
	Status(types.Height) (state proving.State, position uint64, err error)
	Verify(height types.Height, proof []byte, atLeast int) (bits int, err error)
	Changed() <-chan struct{}
}

// leastProofBits is what a proof must have to be called one.
const leastProofBits = 100

// atOrBelowHead is the height of a block that is there, or was.
func (s *Server) atOrBelowHead(block api.BlockRef) (types.Height, error) {
	head := s.chain.Head().Header.Height
	height := block.Resolve(head)
	if height > head {
		return 0, withData(api.ErrAboveHead, "param", "block", "max", head)
	}
	return height, nil
}

func (s *Server) getProof(_ context.Context, p api.GetProofParams) (api.BlockProof, error) {
	height, err := s.atOrBelowHead(p.Block)
	if err != nil {
		return api.BlockProof{}, err
	}
	bundle, err := s.bundle(height)
	if err != nil {
		return api.BlockProof{}, err
	}
	statement, err := blockproof.NewStatement(&bundle.Parent.Header, &bundle.Header.Header, bundle.Accesses)
	if err != nil {
		return api.BlockProof{}, err
	}
	bits, err := blockproof.Bits(bundle.Proof)
	return api.BlockProof{
		Height: height, StateRoot: statement.PostRoot, Proof: bundle.Proof, Type: api.ProofType, Statement: api.StatementS1,
		SecurityBits: uint32(bits), StateHashBits: api.StateHashBits, PreRoot: statement.PreRoot,
		AccessesDigest: statement.AccessesDigest, Circuit: s.circuit, BlockHash: statement.BlockHash,
	}, err
}

// bundle is the proof of a block that the chain has, or why there is none.
func (s *Server) bundle(height types.Height) (blockproof.Bundle, error) {
	bundle, err := s.proofs.Bundle(height)
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) {
		err = s.noProof(height)
	}
	return bundle, err
}

// noProof says why there is no proof of a block.
func (s *Server) noProof(height types.Height) error {
	state, position, err := s.proofs.Status(height)
	switch {
	case err != nil:
		return err
	case state == proving.NotStored || state == proving.Proven: // proven meanwhile, and gone again
		stored, err := s.chain.Proofs()
		if errors.Is(err, chain.ErrNotFound) {
			return api.ErrProofNotStored
		}
		if err != nil {
			return err
		}
		e := withData(api.ErrProofNotStored, "oldest", stored.Oldest, "newest", stored.Newest)
		e.Message = fmt.Sprintf("%s: this node has those of the blocks %d to %d", e.Message, stored.Oldest, stored.Newest)
		return e
	default:
		e := withData(api.ErrProofNotReady, "status", string(state), "position", position)
		e.Message = fmt.Sprintf("%s: the block is %s, %d blocks come before it", e.Message, state, position)
		return e
	}
}

func (s *Server) verifyProof(_ context.Context, p api.VerifyProofParams) (api.ProofVerdict, error) {
	height, err := s.atOrBelowHead(p.Block)
	if err != nil {
		return api.ProofVerdict{}, err
	}
	verdict := api.ProofVerdict{Statement: api.StatementS1}
	bits, err := s.proofs.Verify(height, p.Proof, leastProofBits)
	verdict.Valid, verdict.SecurityBits = err == nil, uint32(bits)
	switch {
	case errors.Is(err, chain.ErrNotFound):
		verdict.Reason, err = new("there is nothing to prove of this block"), nil
	case errors.Is(err, blockproof.ErrProof):
		// What the verifier adds is for people: the byte, or the segment.
		_, detail, _ := strings.Cut(err.Error(), blockproof.ErrProof.Error())
		verdict.Reason, err = new("the proof does not hold"+detail), nil
	}
	return verdict, err
}

func (s *Server) getAccessList(_ context.Context, p api.GetAccessListParams) (api.AccessList, error) {
	height, err := s.atOrBelowHead(p.Block)
	if err != nil {
		return api.AccessList{}, err
	}
	accesses, err := s.chain.Accesses(height)
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

// ProofNotice implements push.Source.
func (s *Server) ProofNotice(height types.Height) (*api.ProofNotice, bool, error) {
	state, _, err := s.proofs.Status(height)
	if err != nil || state == proving.Queued || state == proving.Proving {
		return nil, err == nil, err
	}
	if state != proving.Proven {
		return nil, false, nil
	}
	bundle, err := s.proofs.Bundle(height)
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) { // gone meanwhile
		return nil, false, nil
	}
	return &api.ProofNotice{Height: height, Statement: api.StatementS1, Size: uint64(len(bundle.Proof))}, false, err
}

// ProofsChanged implements push.Source.
func (s *Server) ProofsChanged() <-chan struct{} { return s.proofs.Changed() }

// serveBundle serves GET /proof/HEIGHT: the bundle, with ranges.
func (s *Server) serveBundle(w http.ResponseWriter, r *http.Request) {
	s.serveBinary(w, r, func(height types.Height) ([]byte, error) {
		bundle, err := s.bundle(height)
		if err != nil {
			return nil, err
		}
		return bundle.Encode(), nil
	})
}

// serveAccesses serves GET /accesses/HEIGHT: bincode(Vec<Access>), with ranges.
func (s *Server) serveAccesses(w http.ResponseWriter, r *http.Request) {
	s.serveBinary(w, r, func(height types.Height) ([]byte, error) {
		accesses, err := s.chain.Accesses(height)
		if err != nil {
			return nil, err
		}
		return types.EncodeAccesses(accesses), nil
	})
}

// serveBinary serves what a block has, under its height; 404 where it has none, with the reason.
func (s *Server) serveBinary(w http.ResponseWriter, r *http.Request, read func(types.Height) ([]byte, error)) {
	named, err := strconv.ParseUint(r.PathValue("height"), 10, 64)
	if err != nil {
		http.Error(w, "The path ends with a block's height, in decimal.", http.StatusBadRequest)
		return
	}
	var content []byte
	height, err := s.atOrBelowHead(api.AtHeight(types.Height(named)))
	if err == nil {
		content, err = read(height)
	}
	s.answerBinary(w, r, content, err)
}

// answerBinary answers with content, with ranges, or with why there is none: 404 with a reason that clients may know.
func (s *Server) answerBinary(w http.ResponseWriter, r *http.Request, content []byte, err error) {
	var why *jsonrpc.Error
	switch err = s.public(err); {
	case errors.As(err, &why):
		http.Error(w, why.Message, http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, s.incident(r.Context(), r.Pattern, err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// incident reports an error that no client may see, and returns what a client is told.
func (s *Server) incident(ctx context.Context, what string, err error) string {
	if s.report == nil {
		return "internal error"
	}
	return "internal error, incident " + s.report(ctx, what, err)
}
