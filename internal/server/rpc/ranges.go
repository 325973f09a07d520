package rpc

import (
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// checkRange rejects a filter's range of heights that is not in the chain: clients would take its answer for complete.
// The range may begin at the next block, for a client that resumes after the head.
func checkRange(blocks headers, from, to *types.Height) error {
	head := blocks.Head().Header.Height
	switch {
	case from != nil && *from > head+1:
		return withData(api.ErrAboveHead, "param", "filter", "member", "from_block", "max", head)
	case to != nil && *to > head:
		return withData(api.ErrAboveHead, "param", "filter", "member", "to_block", "max", head)
	case from != nil && to != nil && *from > *to:
		return endsFirst("filter", "from_block", *to)
	}
	return nil
}

// endsFirst returns the error for a range that ends before it begins. A member of a parameter names its start.
func endsFirst(param, member string, last types.Height) error {
	e := withData(api.ErrOutOfRange, "param", param, "member", member, "min", 0, "max", last)
	e.Message = "the range ends before it begins"
	return e
}

// cursors translates between positions in the chain and clients' cursors. A cursor is a height, an index and the prefix
// of the block's hash, big-endian, in hex; the hash ties it to one chain.
type cursors struct {
	chain   headers
	reverts bool // blocks can be reverted on this chain
}

const cursorBytes = 8 + 4 + 4

func newCursor(p chain.Position, block types.BlockHash) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, cursorBytes), uint64(p.Height))
	return hex.EncodeToString(append(binary.BigEndian.AppendUint32(b, p.Index), block[:4]...))
}

// parseCursor parses a cursor that newCursor returned; it returns false for any other text.
func parseCursor(text string) (p chain.Position, block [4]byte, ok bool) {
	b, err := hex.DecodeString(text[:min(len(text), 2*cursorBytes+1)])
	if err != nil || len(b) != cursorBytes {
		return p, block, false
	}
	p = chain.Position{Height: types.Height(binary.BigEndian.Uint64(b)), Index: binary.BigEndian.Uint32(b[8:])}
	return p, [4]byte(b[12:]), true
}

// position returns the position of a cursor, if that is in the chain. A cursor in a pruned block is valid if no block
// after it is pruned. param and member name the cursor in errors.
func (c *cursors) position(text, param, member string) (chain.Position, error) {
	p, block, ok := parseCursor(text)
	if !ok {
		return p, withData(api.ErrBadCursor, "param", param, "member", member)
	}
	header, err := c.chain.Header(p.Height)
	switch {
	case errors.Is(err, chain.ErrPruned) && p.NextEvent() >= c.chain.OldestHeight():
		return p, nil
	case errors.Is(err, chain.ErrNotFound) && !c.reverts:
		return p, withData(api.ErrAboveHead, "param", param, "member", member, "max", c.chain.Head().Header.Height)
	case errors.Is(err, chain.ErrNotFound):
		return p, api.ErrTakenBack
	case err != nil:
		return p, err
	}
	if hash := header.Header.Hash(); [4]byte(hash[:4]) != block {
		return p, api.ErrTakenBack
	}
	return p, nil
}
