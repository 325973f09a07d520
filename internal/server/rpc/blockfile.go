package rpc

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// serveBlocks serves GET /blocks/FROM-TO: bincode(Vec<Vec<u8>>) of blocks, with ranges. The answer depends on how far
// the chain has come, so its ETag is the hash of the last block. A range that goes on with an earlier answer is of the
// same chain.
func (h *blockHandlers) serveBlocks(w http.ResponseWriter, r *http.Request) {
	from, to, ok := parseRange(r.PathValue("range"))
	if !ok {
		http.Error(
			w,
			"The path ends with the heights of the first and the last block, in decimal, such as 1-256.",
			http.StatusBadRequest,
		)
		return
	}
	follower := r.URL.Query().Get("follower")
	if len(follower) > api.MaxFollowerBytes {
		http.Error(w, "A follower's name has at most 64 bytes.", http.StatusBadRequest)
		return
	}
	if follower != "" {
		h.followers.saw(request.Of(r.Context()).Source, follower, time.Now())
	}
	h.files.answer(w, r, func(counter) ([]byte, error) {
		blocks, last, err := h.encodedBlocks(r.Context(), from, to)
		if err == nil {
			hash := last.Hash()
			w.Header().Set("ETag", strconv.Quote(hex.EncodeToString(hash[:])))
		}
		return blocks, err
	})
}

// parseRange reads FROM-TO.
func parseRange(text string) (from, to types.Height, ok bool) {
	first, last, _ := strings.Cut(text, "-")
	f, err := strconv.ParseUint(first, 10, 64)
	t, err2 := strconv.ParseUint(last, 10, 64)
	return types.Height(f), types.Height(t), err == nil && err2 == nil && f <= t
}

// encodedBlocks are the blocks of a range up to the head, as many as [api.MaxBlocks] and [api.MaxBlocksBytes] allow,
// but at least one if there is one. The header is that of the last, and zero if there is none.
func (h *blockHandlers) encodedBlocks(
	ctx context.Context, from, to types.Height,
) (encoded []byte, last types.Header, err error) {
	var blocks [][]byte
	size := 0
	end := min(to, h.chain.Head().Header.Height)
	for height := from; height <= end && len(blocks) < api.MaxBlocks; height++ {
		if err := ctx.Err(); err != nil {
			return nil, last, err
		}
		block, err := h.chain.EncodedBlock(height)
		if errors.Is(err, chain.ErrNotFound) { // a development chain went back meanwhile
			break
		}
		if err != nil {
			return nil, last, err
		}
		if size+len(block.Bytes) > api.MaxBlocksBytes && len(blocks) > 0 {
			break
		}
		size += len(block.Bytes)
		blocks, last = append(blocks, block.Bytes), block.Header.Header
	}
	e := codec.NewEncoder(8 + 8*len(blocks) + size)
	e.U64(uint64(len(blocks)))
	for _, block := range blocks {
		e.Bytes(block)
	}
	return e.Data(), last, nil
}
