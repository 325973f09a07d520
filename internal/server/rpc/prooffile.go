package rpc

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// serveBundle serves GET /proof/HEIGHT, a block's bundle, and GET /proof/FROM-TO, the proof of a range of blocks. Both
// support ranges of bytes.
func (h *proofHandlers) serveBundle(w http.ResponseWriter, r *http.Request) {
	probe := r.Method == http.MethodHead
	if from, to, ok := parseRange(r.PathValue("height")); ok {
		h.ranges.answer(w, r, func(count counter) (*file, error) {
			return h.rangeFile(from, to, probe, func(bytes int) error {
				if err := count(bytes); err != nil {
					return err
				}
				return admission.Yield(r.Context())
			})
		})
		return
	}
	h.serveOfBlock(w, r, func(height types.Height) (*file, error) { return h.bundleFile(height, probe) })
}

// bundleFile returns a file with the encoding of a block's [blockproof.Bundle].
func (h *proofHandlers) bundleFile(height types.Height, probe bool) (*file, error) {
	has, err := h.chain.HasProof(height)
	if err == nil && !has {
		err = h.noProof(height)
	}
	if err != nil || probe {
		return &file{probe: true}, err
	}
	proof, err := h.chain.Proof(height)
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) {
		err = h.noProof(height)
	}
	if err != nil {
		return nil, err
	}
	parent, err := h.chain.Header(height - 1)
	if err != nil {
		return nil, err
	}
	block, err := h.chain.MeasuredBlock(height)
	if err != nil {
		return nil, err
	}
	before, behind := codec.NewEncoder(2*types.SignedHeaderBytes), codec.NewEncoder(8)
	before.Fixed(parent.Encode())
	before.Fixed(block.Header.Encode())
	behind.U64(uint64(len(proof)))
	parts := append([]part{wholeBytes(before.Data())}, h.accesses(block)...)
	return &file{parts: append(parts, wholeBytes(behind.Data()), h.proofPart(height, int64(len(proof))))}, nil
}

// proofPart returns the part of a block's proof, of the given size. It reads the proof again for each piece.
func (h *proofHandlers) proofPart(height types.Height, size int64) part {
	return part{size, func(item uint32) ([]byte, uint32, error) {
		proof, err := h.chain.Proof(height)
		if err != nil {
			return nil, 0, err
		}
		return wholeBytes(proof).read(item)
	}}
}

// accesses returns the parts of a block's access list, bincode(Vec<Access>).
func (h *proofHandlers) accesses(block chain.MeasuredBlock) []part {
	e := codec.NewEncoder(8)
	e.U64(uint64(block.Accesses))
	parts := []part{wholeBytes(e.Data())}
	if block.AccessBytes > 0 {
		parts = append(parts, part{int64(block.AccessBytes), func(item uint32) ([]byte, uint32, error) {
			return h.chain.AccessPiece(nil, block.Header, item, pieceBytes)
		}})
	}
	return parts
}

// rangeFile returns a file with the proof of a range of blocks. The union of the blocks' access lists is never longer
// than the lists, which are counted as they are read; after each of them, others may have their turn. The union is held
// until it is sent, as no piece of it can be made separately.
func (h *proofHandlers) rangeFile(from, to types.Height, probe bool, count counter) (*file, error) {
	if head := h.chain.Head().Header.Height; to > head {
		return nil, withData(api.ErrAboveHead, "param", "block", "max", head)
	}
	span, is := blockproof.SpanOf(from, to)
	if !is || span.Log() == 0 {
		return nil, withMessage(api.ErrProofNotStored, "a range must have 2, 4, 8 … or 4,096 blocks, and end at a "+
			"multiple of its length")
	}
	none := withMessage(api.ErrProofNotStored, "rangeProofs of svc_getNodeInfo lists the available ranges")
	if probe {
		has, err := h.chain.HasRangeProof(span)
		if err == nil && !has {
			err = none
		}
		return &file{probe: true}, err
	}
	r, err := h.proofs.Range(span, count)
	switch {
	case errors.Is(err, chain.ErrNotFound), errors.Is(err, chain.ErrPruned):
		return nil, none
	case err != nil:
		return nil, err
	}
	encoded := r.Encode()
	return &file{parts: []part{wholeBytes(encoded)}, held: len(encoded)}, nil
}

// serveAccesses serves GET /accesses/HEIGHT: bincode(Vec<Access>), with ranges. The ETag is the block's hash.
func (h *proofHandlers) serveAccesses(w http.ResponseWriter, r *http.Request) {
	h.serveOfBlock(w, r, func(height types.Height) (*file, error) {
		block, err := h.chain.MeasuredBlock(height)
		if err != nil {
			return nil, err
		}
		return &file{tag: blockTag(block.Header), parts: h.accesses(block)}, nil
	})
}

// serveOfBlock serves the file that open returns for the height in the path, or 404 with the reason if there is none.
func (h *proofHandlers) serveOfBlock(
	w http.ResponseWriter, r *http.Request, open func(types.Height) (*file, error),
) {
	named, err := strconv.ParseUint(r.PathValue("height"), 10, 64)
	if err != nil {
		http.Error(w, "The path must end with a block's height, in decimal.", http.StatusBadRequest)
		return
	}
	h.files.answer(w, r, func(counter) (*file, error) {
		height, err := h.atOrBelowHead(api.AtHeight(types.Height(named)))
		if err != nil {
			return nil, err
		}
		return open(height)
	})
}
