package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// Source is a node that blocks come from. It must be safe for concurrent use, and its results are not trusted. If the
// node answers with a refusal, the error is a [*Refusal]; errors made with [Faulty] blame the node.
type Source interface {
	// Name returns the node's address, without secrets.
	Name() string
	// Probe asks the node for its chain, its head, and the header of its block at a height.
	Probe(ctx context.Context, at types.Height) (Probe, error)
	// Blocks returns bincode(Block) of the blocks from one height to another, or of the first of them; none above the
	// node's head.
	Blocks(ctx context.Context, from, to types.Height) ([][]byte, error)
	// Header returns the header of a block, nil above the node's head.
	Header(ctx context.Context, height types.Height) (*types.SignedHeader, error)
	// Headers returns headers of blocks up to a height, ascending: as many as the node has and sends at a time.
	Headers(ctx context.Context, to types.Height) ([]types.SignedHeader, error)
	// Receipts returns the node's receipts of transactions, nil for each one that it does not know.
	Receipts(ctx context.Context, ids []types.TxID) ([]*UnverifiedReceipt, error)
	// Accesses returns the node's access list of a block.
	Accesses(ctx context.Context, height types.Height) ([]types.Access, error)
	// Bundle returns the bundle of a block's proof, of at most limit bytes. The error is [ErrNotProven] while there is
	// no proof.
	Bundle(ctx context.Context, height types.Height, limit int64) ([]byte, error)
	// Ranges returns the ranges of blocks for which the node has joint proofs.
	Ranges(ctx context.Context) ([]Ranges, error)
	// Range returns the range of blocks with a joint proof, of at most limit bytes. The error is [ErrNoRange] if there
	// is none.
	Range(ctx context.Context, first, last types.Height, limit int64) ([]byte, error)
	// Value returns the value of a state key after a block, empty if the key is absent, with its Merkle proof. The
	// error is chain.ErrPruned if the state is pruned, and chain.ErrNoState if the node keeps no state.
	Value(ctx context.Context, height types.Height, key []byte) ([]byte, tree.MerkleProof, error)
	// Code returns the code with the given hash.
	Code(ctx context.Context, hash types.CodeHash) ([]byte, error)
	// Watch calls head for each new block until ctx ends or the connection breaks. The error is a [*Refusal] if the
	// node does not push.
	Watch(ctx context.Context, head func(types.Height)) error
	// Send sends transactions and returns each one's error.
	Send(ctx context.Context, encoded [][]byte) []error
	// Close closes the connections.
	Close()
}

// Probe is a node's description of itself.
type Probe struct {
	Genesis types.BlockHash
	Head    types.Height // height of its newest block
	Primary types.Height // height of the newest block that it knows of
	Header  *types.SignedHeader
	// Producing is the key that the node currently makes blocks with, or nil.
	Producing *types.PublicKey
}

// UnverifiedReceipt is a receipt from another node, which is not proven.
type UnverifiedReceipt struct {
	types.Receipt
	Raw json.RawMessage // the node's complete answer about the receipt
}

// Refusal is the error of a node that answered with a refusal.
type Refusal struct {
	Why RefusalKind
	Err error // the node's own words, passed on to the client whose request this node forwarded
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// RefusalKind classifies a refusal by its meaning for the requester.
type RefusalKind int

// The kinds of refusals.
const (
	RefusedForGood  RefusalKind = iota // permanent
	RefusedKnown                       // it already has this transaction
	RefusedUsed                        // the sender's nonce is used: usually a block includes the transaction
	RefusedBusy                        // it is overloaded
	RefusedFull                        // its pool is full
	RefusedReadOnly                    // it takes no transactions
	RefusedFailed                      // it failed to answer
	RefusedEarly                       // its head is below the requested block
)

// NoProof is the error for a block whose proof a node neither has nor makes.
type NoProof struct {
	Height         types.Height
	Stored         bool         // whether it has any proofs
	Oldest, Newest types.Height // range of the blocks whose proofs it has
}

func (e *NoProof) Error() string {
	if !e.Stored {
		return fmt.Sprintf("it has no proof of block %d, and makes none", e.Height)
	}
	return fmt.Sprintf("it has no proof of block %d, only of blocks %d to %d", e.Height, e.Oldest, e.Newest)
}

// refusal returns the Refusal in an error, or nil if there is none.
func refusal(err error) *Refusal {
	var r *Refusal
	_ = errors.As(err, &r) // r stays nil on failure
	return r
}

// maxBundleBytes bounds a bundle: an access list and its proof. A bundle is held in memory, and its sender is not
// trusted. So the bound is less than a decoder's 1 GiB, and hardly more than a block of the default gas limit can list.
// Each byte read costs 16 gas of 10^9 and is listed before and after: 125 MB. A listed key costs as much gas as 500
// bytes, more than its share of a proof.
const maxBundleBytes = 128 << 20

// MostRange returns the size limit in bytes for requesting the range of blocks with these headers.
func MostRange(headers []types.SignedHeader) int64 {
	return min(maxBundleBytes, blockproof.MostRangeBytes(headers))
}

// MostBundle returns the size limit in bytes for requesting the bundle of a block.
func MostBundle(header types.SignedHeader) int64 {
	return min(maxBundleBytes, blockproof.MostBundleBytes(header.Header.GasUsed))
}
