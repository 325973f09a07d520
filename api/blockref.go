package api

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// BlockRef names a block by its place in the chain: a height, the latest block or the earliest. The zero value is the
// latest. JSON carries it as a hex quantity, "latest" or "earliest"; a JSON integer is taken too.
type BlockRef struct {
	kind   refKind
	height types.Height
}

type refKind uint8

const (
	refLatest refKind = iota
	refEarliest
	refHeight
)

const (
	latestName   = "latest"
	earliestName = "earliest"
	pendingName  = "pending"
)

// Latest returns the reference to the head.
func Latest() BlockRef { return BlockRef{} }

// Earliest returns the reference to genesis.
func Earliest() BlockRef { return BlockRef{kind: refEarliest} }

// AtHeight returns the reference to the block of a height.
func AtHeight(h types.Height) BlockRef { return BlockRef{kind: refHeight, height: h} }

// ParseBlockRef parses a hex quantity, which may have leading zeros, "latest" or "earliest".
func ParseBlockRef(s string) (BlockRef, error) {
	switch s {
	case latestName:
		return Latest(), nil
	case earliestName:
		return Earliest(), nil
	}
	q, err := ParseLooseQuantity(s)
	if err != nil {
		return BlockRef{}, errBadBlockRef
	}
	return AtHeight(types.Height(q)), nil
}

var (
	errBadBlockRef = jsonrpc.NewError(jsonrpc.CodeInvalidParams,
		`a block is named by a hex quantity, "latest", "earliest" or an integer`, "reason", "malformed")
	errBadNonceRef = jsonrpc.NewError(jsonrpc.CodeInvalidParams,
		`a nonce is asked at a hex quantity, "latest", "earliest", "pending" or an integer`, "reason", "malformed")
)

// Resolve returns the height that the reference names in a chain whose latest block has height head. The result may
// exceed head.
func (r BlockRef) Resolve(head types.Height) types.Height {
	switch r.kind {
	case refEarliest:
		return 0
	case refHeight:
		return r.height
	default:
		return head
	}
}

// String returns the reference in its JSON form, without quotes.
func (r BlockRef) String() string {
	switch r.kind {
	case refEarliest:
		return earliestName
	case refHeight:
		return Quantity(r.height).String()
	default:
		return latestName
	}
}

// MarshalText renders the reference as [BlockRef.String] does.
func (r BlockRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalJSON accepts the texts that [ParseBlockRef] accepts, and a JSON integer. It fails with a *jsonrpc.Error.
func (r *BlockRef) UnmarshalJSON(text []byte) error {
	ref, err := parseRef(text)
	if err != nil {
		return errBadBlockRef
	}
	*r = ref
	return nil
}

// parseRef reads a JSON string or integer.
func parseRef(text []byte) (BlockRef, error) {
	if len(text) == 0 || text[0] != '"' {
		height, err := strconv.ParseUint(string(text), 10, 64)
		return AtHeight(types.Height(height)), err
	}
	if last := len(text) - 1; last > 0 && text[last] == '"' && !bytes.ContainsAny(text[1:last], `"\`) {
		return ParseBlockRef(string(text[1:last]))
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return BlockRef{}, err
	}
	return ParseBlockRef(s)
}

// NonceRef is the point at which an account's nonce is requested: after a block, or with the pool's executable
// transactions counted. The zero value is the latest block. JSON carries it as a [BlockRef] or "pending".
type NonceRef struct {
	Pending bool
	Block   BlockRef // where Pending is false
}

// Pending returns the reference to the nonce that the account's next transaction needs.
func Pending() NonceRef { return NonceRef{Pending: true} }

// MarshalText renders the reference.
func (r NonceRef) MarshalText() ([]byte, error) {
	if r.Pending {
		return []byte(pendingName), nil
	}
	return r.Block.MarshalText()
}

// UnmarshalJSON accepts what [BlockRef.UnmarshalJSON] accepts, and "pending". It fails with a *jsonrpc.Error.
func (r *NonceRef) UnmarshalJSON(text []byte) error {
	if string(text) == `"`+pendingName+`"` {
		*r = Pending()
		return nil
	}
	block, err := parseRef(text)
	if err != nil {
		return errBadNonceRef
	}
	*r = NonceRef{Block: block}
	return nil
}
