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

// Source is a node that blocks come from. Its methods may be called concurrently; what they return is not to be
// believed. The error of a node that answers and refuses is a [*Refusal]; one that blames the node for more is made
// with [Faulty].
type Source interface {
	// Name is where the node is, without secrets.
	Name() string
	// Probe asks what the node is and how far, and for the header of its block at a height.
	Probe(ctx context.Context, at types.Height) (Probe, error)
	// Blocks are bincode(Block) of the blocks from one height to another, or of the first of them; none above the
	// node's head.
	Blocks(ctx context.Context, from, to types.Height) ([][]byte, error)
	// Header is the header of a block, nil above the node's head.
	Header(ctx context.Context, height types.Height) (*types.SignedHeader, error)
	// Headers are those of blocks up to a height, ascending: as many as the node has and gives at a time.
	Headers(ctx context.Context, to types.Height) ([]types.SignedHeader, error)
	// Receipts are what the node says of transactions, each nil when it does not know it.
	Receipts(ctx context.Context, ids []types.TxID) ([]*ToldReceipt, error)
	// Accesses are what the node says that a block read and wrote.
	Accesses(ctx context.Context, height types.Height) ([]types.Access, error)
	// Bundle is what the node gives as the bundle of a block's proof, of at most limit bytes; [ErrNotProven] while there
	// is none.
	Bundle(ctx context.Context, height types.Height, limit int64) ([]byte, error)
	// Ranges are what the node says which blocks it has proofs of together.
	Ranges(ctx context.Context) ([]Ranges, error)
	// Range is what the node gives as the range of blocks that have a proof together, of at most limit bytes; [ErrNoRange]
	// where there is none.
	Range(ctx context.Context, first, last types.Height, limit int64) ([]byte, error)
	// Value is what a state key has after a block, empty for nothing, with its Merkle proof. The error is chain.ErrPruned
	// if there is none any more, and chain.ErrNoState if the node keeps no state.
	Value(ctx context.Context, height types.Height, key []byte) ([]byte, tree.MerkleProof, error)
	// Code is what the node gives as the code of a hash.
	Code(ctx context.Context, hash types.CodeHash) ([]byte, error)
	// Watch calls head for each new block until ctx ends or the connection breaks. The error is a [Refusal] if the node
	// does not push.
	Watch(ctx context.Context, head func(types.Height)) error
	// Send sends transactions and returns each one's error.
	Send(ctx context.Context, encoded [][]byte) []error
	// Close ends the connections.
	Close()
}

// Probe is what a node says of itself.
type Probe struct {
	Genesis types.BlockHash
	Head    types.Height // of its newest block
	Primary types.Height // of the newest block that it knows of
	Header  *types.SignedHeader
	// Producing is the key that the node makes blocks with at present, nil where it makes none.
	Producing *types.PublicKey
}

// ToldReceipt is a receipt as a node tells it, which nothing proves.
type ToldReceipt struct {
	types.Receipt
	Said json.RawMessage // all that the node says of it, in its own words
}

// Refusal is the error of a node that answered, and refused.
type Refusal struct {
	Why RefusalKind
	Err error // the node's own words: who sent something through this node is told them
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// RefusalKind says what a refusal means for who asked.
type RefusalKind int

// Why a node refuses.
const (
	RefusedForGood  RefusalKind = iota // it will not be otherwise
	RefusedKnown                       // it has the very transaction
	RefusedUsed                        // the sender has used its nonce: most often a block has the transaction
	RefusedBusy                        // too much is asked of it at present
	RefusedFull                        // its pool takes no transaction at present
	RefusedReadOnly                    // it takes no transactions
	RefusedFailed                      // it failed at the answer
	RefusedEarly                       // it has not come as far as the block that is asked for
)

// NoProof is the error of a block whose proof a node does not have, nor makes.
type NoProof struct {
	Height         types.Height
	Stored         bool         // whether it has proofs at all
	Oldest, Newest types.Height // of those
}

func (e *NoProof) Error() string {
	if !e.Stored {
		return fmt.Sprintf("it has no proof of block %d and makes none", e.Height)
	}
	return fmt.Sprintf("it has no proof of block %d, only of blocks %d to %d", e.Height, e.Oldest, e.Newest)
}

// refusal is the refusal in an error, nil where there is none.
func refusal(err error) *Refusal {
	var r *Refusal
	_ = errors.As(err, &r) // r stays nil
	return r
}

// maxBundleBytes bounds a bundle: an access list and its proof. It is held in memory, and its sender is not trusted. So
// the bound is less than the 1 GiB of a decoder, and hardly more than a block of the default gas limit can list. Of
// 10^9 gas a byte that is read costs 16, and it is listed before and after: 125 MB. A key that is listed takes the gas
// of 500 bytes, more than its part of a proof.
const maxBundleBytes = 128 << 20

// MostRange is how many bytes the range of blocks with these headers may have that is asked for.
func MostRange(headers []types.SignedHeader) int64 {
	return min(maxBundleBytes, blockproof.MostRangeBytes(headers))
}

// MostBundle is how many bytes the bundle of a block may have that is asked for.
func MostBundle(header types.SignedHeader) int64 {
	return min(maxBundleBytes, blockproof.MostBundleBytes(header.Header.GasUsed))
}
