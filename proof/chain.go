package proof

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// ErrHandedOver is returned by [Chain.Next], as an [ErrRefused], for a range in which the producer or the version may
// change. The lists say so, or a header has another one. Which block has which is shown by the blocks' own proofs.
var ErrHandedOver = errors.New(
	"the producer or the version changes within the range: its blocks are to be verified one by one")

// Chain verifies proofs that follow each other, of blocks and of ranges, from a block on that is trusted. It has each
// block sealed by the producer in force, and of the version in force: the parameters name both, and are in the list of
// each block that is not empty. It is for one goroutine.
type Chain struct {
	bits       int
	height     types.Height
	hash       types.BlockHash
	parameters types.Parameters // in force; until they are known, only the producer of the blocks so far, which are empty
	known      bool             // whether a list has told what they are
	blocks     bool             // whether there are any after the trusted one
	override   *Override        // nil: none
}

// NewChain begins at a trusted block, which may be genesis. Each proof must have at least so many bits.
func NewChain(height types.Height, hash types.BlockHash, atLeastBits int) *Chain {
	return &Chain{bits: atLeastBits, height: height, hash: hash}
}

// Override makes the chain judge a block by other parameters than its parent's state has. It is for an emergency
// override, which was agreed on outside the chain, and must come before the block.
func (c *Chain) Override(o Override) { c.override = &o }

// Height is that of the last block, at first the trusted one's.
func (c *Chain) Height() types.Height { return c.height }

// Hash is that of the last block.
func (c *Chain) Hash() types.BlockHash { return c.hash }

// Signed tells whether the blocks so far are shown to be sealed by the producer in force. Where all of them were empty
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

// follow holds headers to the producer and the version in force, which accesses may tell of, or change.
func (c *Chain) follow(headers []types.SignedHeader, accesses []types.Access) error {
	before, after, listed, err := parametersIn(accesses)
	first := &headers[0].Header
	switch {
	case err != nil:
		return err
	case !listed && len(accesses) > 0:
		return errors.New("the list lacks the parameters, which every block reads that is not empty")
	case !listed && !c.blocks: // the next list tells whether this is the one
		before.Producer, after.Producer = first.Producer, first.Producer
	case !listed:
		before, after = c.parameters, c.parameters
	case c.known && !before.Equal(c.parameters):
		return errors.New("the parameters are not those that the blocks before left")
	case c.blocks && !c.known && before.Producer != c.parameters.Producer:
		return errors.New("the parameters name another producer than that of the blocks before")
	}
	if o := c.override; o != nil && len(headers) == 1 && first.Height == o.Height {
		if !listed {
			return errors.New("the list lacks the parameters, which are overridden")
		}
		before = o.Parameters
	}
	if before.Producer != after.Producer && len(headers) > 1 {
		return ErrHandedOver
	}
	for i := range headers {
		if !listed && !c.known {
			before.Version = headers[i].Header.Version // nothing tells which is in force
		}
		if err := judge(&headers[i].Header, &before); err != nil {
			if len(headers) > 1 { // they may have changed and changed back, which the union of lists does not show
				return ErrHandedOver
			}
			return err
		}
	}
	c.blocks, c.known, c.parameters = true, c.known || listed, after
	return nil
}

// judge checks a header by the parameters that are in force for it.
func judge(h *types.Header, p *types.Parameters) error {
	switch version := p.VersionAt(h.Timestamp); {
	case !params.Known(version):
		return fmt.Errorf("block %d: %w: it is of version %d", h.Height, ErrUnknownVersion, version)
	case h.Version != version:
		return fmt.Errorf("block %d is of version %d, and not of the one in force, %d", h.Height, h.Version, version)
	case h.Producer != p.Producer:
		return fmt.Errorf("block %d is sealed by %s, and not by the producer in force, %s", h.Height, h.Producer, p.Producer)
	}
	return nil
}

// parametersIn are those in force before and after the blocks with a list, if that has them.
func parametersIn(accesses []types.Access) (before, after types.Parameters, listed bool, err error) {
	key := state.ParametersKey()
	for i := range accesses {
		if !bytes.Equal(accesses[i].Key, key) {
			continue
		}
		if before, err = decodeParameters(accesses[i].Old); err != nil {
			return before, after, false, fmt.Errorf("the parameters before: %w", err)
		}
		if after, err = decodeParameters(accesses[i].New); err != nil {
			return before, after, false, fmt.Errorf("the parameters after: %w", err)
		}
		return before, after, true, nil
	}
	return before, after, false, nil
}
