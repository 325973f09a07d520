package proof

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// ErrHandedOver is returned by [Chain.Next], as an [ErrRefused], for a range in which the right to produce may pass to
// another key. The lists say so, or a header is another's. Which block has which producer is shown by the blocks' own
// proofs.
var ErrHandedOver = errors.New("the producer changes within the range: its blocks are to be verified one by one")

// Chain verifies proofs that follow each other, of blocks and of ranges, from a block on that is trusted. It has each
// block signed by the producer in force: the parameters say who that is, and are in the list of each block that is not
// empty. It is for one goroutine.
type Chain struct {
	bits     int
	height   types.Height
	hash     types.BlockHash
	producer types.PublicKey // in force; until it is known that of the blocks so far, which are empty
	known    bool            // whether a list has told who it is
	blocks   bool            // whether there are any after the trusted one
}

// NewChain begins at a trusted block, which may be genesis. Each proof must have at least so many bits.
func NewChain(height types.Height, hash types.BlockHash, atLeastBits int) *Chain {
	return &Chain{bits: atLeastBits, height: height, hash: hash}
}

// Height is that of the last block, at first the trusted one's.
func (c *Chain) Height() types.Height { return c.height }

// Hash is that of the last block.
func (c *Chain) Hash() types.BlockHash { return c.hash }

// Signed tells whether the blocks so far are shown to be those of the producer in force. Where all of them were empty
// nothing told who that is.
func (c *Chain) Signed() bool { return c.known }

// Next verifies what GET /proof/HEIGHT or GET /proof/FROM-TO gave, of the next block or a range that begins with it,
// and goes on from its last block. Errors, which wrap ErrRefused, leave the chain as it was.
func (c *Chain) Next(encoded []byte) (RangeVerdict, error) {
	var headers []types.SignedHeader
	var accesses []types.Access
	var v RangeVerdict
	if IsRange(encoded) {
		r, verdict, err := verifyRange(encoded, c.bits)
		if err != nil {
			return RangeVerdict{}, err
		}
		headers, accesses, v = r.Headers, r.Accesses, verdict
	} else {
		b, verdict, err := verifyBundle(encoded, c.bits)
		if err != nil {
			return RangeVerdict{}, err
		}
		headers, accesses = []types.SignedHeader{b.Parent, b.Header}, b.Accesses
		v = RangeVerdict{verdict.Height, verdict}
	}
	if v.FromHeight != c.height+1 || v.ParentHash != c.hash {
		return RangeVerdict{}, fmt.Errorf("%w: it begins after block %d, %s, not %d, %s",
			ErrRefused, v.FromHeight-1, v.ParentHash, c.height, c.hash)
	}
	next := *c
	if err := next.follow(headers[1:], accesses); err != nil {
		return RangeVerdict{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	next.height, next.hash = v.Height, v.BlockHash
	*c = next
	return v, nil
}

// follow holds headers to the producer in force, which accesses may tell of, or change.
func (c *Chain) follow(headers []types.SignedHeader, accesses []types.Access) error {
	before, after, listed, err := producers(accesses)
	switch {
	case err != nil:
		return err
	case !listed && len(accesses) > 0:
		return errors.New("the list lacks the parameters, which every block reads that is not empty")
	case !listed && !c.blocks:
		before = headers[0].Header.Producer // the next list tells whether it is the one
		after = before
	case !listed:
		before, after = c.producer, c.producer
	case c.blocks && before != c.producer:
		return errors.New("the parameters name another producer than that of the blocks before")
	}
	if before != after && len(headers) > 1 {
		return ErrHandedOver
	}
	for i := range headers {
		if headers[i].Header.Producer == before {
			continue
		}
		if len(headers) > 1 { // the right may have passed on and come back, which the union of lists does not show
			return ErrHandedOver
		}
		return fmt.Errorf("block %d is signed by %s, and not by the producer in force, %s",
			headers[i].Header.Height, headers[i].Header.Producer, before)
	}
	c.blocks, c.known, c.producer = true, c.known || listed, after
	return nil
}

// producers are those in force before and after the blocks with a list, if that has the parameters.
func producers(accesses []types.Access) (before, after types.PublicKey, listed bool, err error) {
	key := state.ParametersKey()
	for i := range accesses {
		if !bytes.Equal(accesses[i].Key, key) {
			continue
		}
		old, err := types.DecodeParameters(accesses[i].Old)
		if err != nil {
			return before, after, false, fmt.Errorf("the parameters before: %w", err)
		}
		now, err := types.DecodeParameters(accesses[i].New)
		if err != nil {
			return before, after, false, fmt.Errorf("the parameters after: %w", err)
		}
		return old.Producer, now.Producer, true, nil
	}
	return before, after, false, nil
}
