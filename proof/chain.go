package proof

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// ErrHandedOver is returned by [Chain.Next], wrapped in an [ErrRefused], for a range within which the producer or the
// version may change. Verify the blocks one by one instead.
var ErrHandedOver = errors.New(
	"the producer or the version changes within the range: verify its blocks one by one")

// Chain verifies consecutive proofs of blocks and ranges, starting after a trusted block. It checks that each block has
// the producer and the version in force. The parameters name both, and are in the access list of each block that is not
// empty. A Chain is not safe for concurrent use.
type Chain struct {
	bits       int
	height     types.Height
	hash       types.BlockHash
	parameters types.Parameters // in force; while known is false, only Producer is set
	known      bool             // whether an access list has shown the parameters
	blocks     bool             // whether a block after the trusted one was verified
	override   *Override        // nil: none
}

// NewChain starts at a trusted block, which may be genesis. Each proof must have at least atLeastBits bits of security.
func NewChain(height types.Height, hash types.BlockHash, atLeastBits int) *Chain {
	return &Chain{bits: atLeastBits, height: height, hash: hash}
}

// Override makes the chain check the override's block by other parameters than those in its parent's state. It is for
// an emergency override, agreed on outside the chain. Call it before that block.
func (c *Chain) Override(o Override) { c.override = &o }

// Height returns the height of the last block, at first the trusted one.
func (c *Chain) Height() types.Height { return c.height }

// Hash returns the hash of the last block.
func (c *Chain) Hash() types.BlockHash { return c.hash }

// Signed reports whether the producer in force is known to have sealed the blocks so far. It is not known while all of
// them are empty.
func (c *Chain) Signed() bool { return c.known }

// Next verifies the result of GET /proof/HEIGHT or GET /proof/FROM-TO for the next block, or for a range that begins
// with it, and advances to its last block. An error, which wraps ErrRefused, leaves the chain unchanged.
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

// follow checks that headers have the producer and the version in force. accesses may reveal or change the parameters.
func (c *Chain) follow(headers []types.SignedHeader, accesses []types.Access) error {
	before, after, listed, err := parametersIn(accesses)
	first := &headers[0].Header
	switch {
	case err != nil:
		return err
	case !listed && len(accesses) > 0:
		return errors.New("the list lacks the parameters, which every nonempty block reads")
	case !listed && !c.blocks: // the next list shows whether this producer is right
		before.Producer, after.Producer = first.Producer, first.Producer
	case !listed:
		before, after = c.parameters, c.parameters
	case c.known && !before.Equal(c.parameters):
		return errors.New("the parameters differ from those after the previous blocks")
	case c.blocks && !c.known && before.Producer != c.parameters.Producer:
		return errors.New("the parameters name a different producer than the previous blocks")
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
			before.Version = headers[i].Header.Version // the version in force is not known yet
		}
		if err := judge(&headers[i].Header, &before); err != nil {
			if len(headers) > 1 { // the union of lists hides a change and its reversal
				return ErrHandedOver
			}
			return err
		}
	}
	c.blocks, c.known, c.parameters = true, c.known || listed, after
	return nil
}

// judge checks a header against the parameters in force for it.
func judge(h *types.Header, p *types.Parameters) error {
	switch version := p.VersionAt(h.Timestamp); {
	case !params.Known(version):
		return fmt.Errorf("block %d: %w: version %d", h.Height, ErrUnknownVersion, version)
	case h.Version != version:
		return fmt.Errorf("block %d has version %d, but version %d is in force", h.Height, h.Version, version)
	case h.Producer != p.Producer:
		return fmt.Errorf("block %d is sealed by %s, but the producer in force is %s", h.Height, h.Producer, p.Producer)
	}
	return nil
}

// parametersIn returns the parameters before and after the blocks with an access list, if the list has them.
func parametersIn(accesses []types.Access) (before, after types.Parameters, listed bool, err error) {
	key := state.ParametersKey()
	for i := range accesses {
		if !bytes.Equal(accesses[i].Key, key) {
			continue
		}
		if before, err = decodeParameters(accesses[i].Old); err != nil {
			return before, after, false, fmt.Errorf("the parameters before the blocks: %w", err)
		}
		if after, err = decodeParameters(accesses[i].New); err != nil {
			return before, after, false, fmt.Errorf("the parameters after the blocks: %w", err)
		}
		return before, after, true, nil
	}
	return before, after, false, nil
}
