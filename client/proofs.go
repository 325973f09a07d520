package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Proof calls svc_getProof.
func (c *Client) Proof(ctx context.Context, block api.BlockRef) (api.BlockProof, error) {
	return Invoke(ctx, c, api.GetProof, api.GetProofParams{Block: block})
}

// VerifyProof calls svc_verifyProof. To verify without trusting a node, see package proof.
func (c *Client) VerifyProof(ctx context.Context, block api.BlockRef, proof []byte) (api.ProofVerdict, error) {
	return Invoke(ctx, c, api.VerifyProof, api.VerifyProofParams{Block: block, Proof: proof})
}

// AccessList calls svc_getAccessList; an empty cursor begins.
func (c *Client) AccessList(ctx context.Context, block api.BlockRef, cursor string) (api.AccessList, error) {
	return Invoke(ctx, c, api.GetAccessList, api.GetAccessListParams{Block: block, Cursor: cursor})
}

// AccessListFile downloads a block's access list whole: bincode(Vec<Access>) of at most limit bytes. Errors are
// [ErrTooLarge] and those of [Client.Download].
func (c *Client) AccessListFile(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	return c.file(ctx, fmt.Sprintf("/accesses/%d", height), limit)
}

// ProofBundle downloads the bundle of a block's proof, of at most limit bytes, that package proof verifies. Where the
// node has none, the error is the one of svc_getProof, api.ErrProofNotReady or api.ErrProofNotStored above all; others
// are [ErrTooLarge] and those of [Client.Download].
func (c *Client) ProofBundle(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	bundle, err := c.bundle(ctx, height, limit)
	var status *StatusError
	if !errors.As(err, &status) || status.Status != http.StatusNotFound {
		return bundle, err
	}
	if _, why := c.Proof(ctx, api.AtHeight(height)); why != nil {
		return nil, why
	}
	return c.bundle(ctx, height, limit) // it has come meanwhile
}

func (c *Client) bundle(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	return c.file(ctx, fmt.Sprintf("/proof/%d", height), limit)
}

// RangeProof downloads the range of blocks that have a proof together, of at most limit bytes, that package proof
// verifies. Where the node has none the error is api.ErrProofNotStored: rangeProofs of svc_getNodeInfo says which there
// are. Others are [ErrTooLarge] and those of [Client.Download].
func (c *Client) RangeProof(ctx context.Context, from, to types.Height, limit int64) ([]byte, error) {
	encoded, err := c.file(ctx, fmt.Sprintf("/proof/%d-%d", from, to), limit)
	var status *StatusError
	if errors.As(err, &status) && status.Status == http.StatusNotFound {
		return nil, fmt.Errorf("%w: blocks %d to %d together", api.ErrProofNotStored, from, to)
	}
	return encoded, err
}

// WaitProven asks, with growing pauses, until the node has a proof of a block or the context ends; then the error is
// that of the context. It waits for ever at a node that proves nothing.
func (c *Client) WaitProven(ctx context.Context, height types.Height) error {
	for pause := firstPause; ; pause = min(pause*3/2, longestPause) {
		info, err := c.NodeInfo(ctx)
		switch {
		case err != nil:
			return err
		case info.Proofs != nil && info.Proofs.Oldest <= height && height <= info.Proofs.Newest:
			return nil
		}
		if err := c.wait(ctx, pause); err != nil {
			return err
		}
	}
}
