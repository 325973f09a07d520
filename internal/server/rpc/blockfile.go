package rpc

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// serveBlocks serves GET /blocks/FROM-TO: bincode(Vec<Vec<u8>>) of blocks, with ranges. The answer grows with the
// chain, so its ETag is the hash of the last block. A range request that continues an earlier answer thus gets the same
// chain.
func (h *blockHandlers) serveBlocks(w http.ResponseWriter, r *http.Request) {
	from, to, ok := parseRange(r.PathValue("range"))
	if !ok {
		http.Error(
			w, "The path must end with the heights of the first and the last block, in decimal, such as 1-256.",
			http.StatusBadRequest,
		)
		return
	}
	follower := r.URL.Query().Get("follower")
	if len(follower) > api.MaxFollowerBytes {
		http.Error(w, "A follower's name must have at most 64 bytes.", http.StatusBadRequest)
		return
	}
	if follower != "" {
		h.followers.saw(request.Of(r.Context()).Source, follower, time.Now())
	}
	h.files.answer(w, r, func(counter) (*file, error) { return h.blockFile(r.Context(), from, to) })
}

// parseRange parses FROM-TO.
func parseRange(text string) (from, to types.Height, ok bool) {
	first, last, _ := strings.Cut(text, "-")
	f, err := strconv.ParseUint(first, 10, 64)
	t, err2 := strconv.ParseUint(last, 10, 64)
	return types.Height(f), types.Height(t), err == nil && err2 == nil && f <= t
}

// blockFile returns a file of the blocks in a range up to the head. It has as many as [api.MaxBlocks] and
// [api.MaxBlocksBytes] allow, but at least one if there is one.
func (h *blockHandlers) blockFile(ctx context.Context, from, to types.Height) (*file, error) {
	opened, count, size := &file{parts: make([]part, 1)}, uint64(0), 0
	end := min(to, h.chain.Head().Header.Height)
	for height := from; height <= end && count < api.MaxBlocks; height++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		block, err := h.chain.MeasuredBlock(height)
		if errors.Is(err, chain.ErrNotFound) { // a development chain was reverted meanwhile
			break
		}
		if err != nil {
			return nil, err
		}
		bytes := int(block.TransactionBytes)
		if size += types.BlockStartBytes + bytes; size > api.MaxBlocksBytes && count > 0 {
			break
		}
		start := binary.LittleEndian.AppendUint64(nil, uint64(types.BlockStartBytes+bytes))
		start = types.EncodeBlockStart(start, block.Header, int(block.Transactions))
		opened.parts = append(opened.parts, wholeBytes(start))
		if bytes > 0 {
			opened.parts = append(opened.parts, part{int64(bytes), func(item uint32) ([]byte, uint32, error) {
				piece := make([]byte, 0, min(bytes, pieceRoom))
				return h.chain.TransactionPiece(piece, block.Header, item, pieceBytes)
			}})
		}
		count, opened.tag = count+1, blockTag(block.Header)
	}
	opened.parts[0] = wholeBytes(binary.LittleEndian.AppendUint64(nil, count))
	return opened, nil
}

// blockTag returns the ETag of a block's content: the block's hash.
func blockTag(block types.SignedHeader) string {
	hash := block.Header.Hash()
	return strconv.Quote(hex.EncodeToString(hash[:]))
}
