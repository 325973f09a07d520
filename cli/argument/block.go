package argument

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// ErrBadBlock is returned, wrapped, by [ParseBlock], [ParseTrusted] and [ParseOverride], and ErrBadHash by [ParseTxID].
var (
	ErrBadBlock = errors.New("bad block")
	ErrBadHash  = errors.New("bad transaction hash")
)

// Block is a block given as an argument: by hash if Hash is not nil, otherwise by its place in the chain.
type Block struct {
	Ref  api.BlockRef
	Hash *types.BlockHash
}

// ParseBlock parses a height in decimal or as a hex quantity, "latest", "earliest", or a block hash.
func ParseBlock(text string) (Block, error) {
	if hash, err := types.ParseBytes32[types.BlockHash](text); err == nil {
		return Block{Hash: &hash}, nil
	}
	if height, err := strconv.ParseUint(text, 10, 64); err == nil {
		return Block{Ref: api.AtHeight(types.Height(height))}, nil
	}
	ref, err := api.ParseBlockRef(text)
	if err != nil {
		return Block{}, fmt.Errorf(`%w %q: use a height, a block hash, "latest" or "earliest"`, ErrBadBlock, text)
	}
	return Block{Ref: ref}, nil
}

// ParseTrusted parses HEIGHT:HASH, the block at which verification begins. The height is decimal.
func ParseTrusted(text string) (height types.Height, hash types.BlockHash, err error) {
	before, after, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(before, 10, 64)
	if err == nil {
		err = hash.UnmarshalText([]byte(after))
	}
	if err != nil {
		return 0, hash, fmt.Errorf("%w %q: use HEIGHT:HASH: %w", ErrBadBlock, text, err)
	}
	return types.Height(number), hash, nil
}

// ParseOverride parses HEIGHT:FILE: the block before which parameters are set, and the file that has them.
func ParseOverride(text string) (height types.Height, file string, err error) {
	before, file, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(before, 10, 64)
	if err != nil || number == 0 || file == "" {
		return 0, "", fmt.Errorf("%w %q: it is not HEIGHT:FILE with a height of at least 1", ErrBadBlock, text)
	}
	return types.Height(number), file, nil
}

// ParseTxID parses a transaction hash.
func ParseTxID(text string) (types.TxID, error) {
	id, err := types.ParseBytes32[types.TxID](text)
	if err != nil {
		return types.TxID{}, fmt.Errorf("%w %q: %w", ErrBadHash, text, err)
	}
	return id, nil
}
