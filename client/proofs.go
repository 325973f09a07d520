package client

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// ErrTooLarge: what the node gives is larger than was asked for.
var ErrTooLarge = errors.New("it is too large")

// ProofBundle downloads the bundle of a block's proof, of at most limit bytes, that package proof verifies. Where the node has
// none, the error is the one of svc_getProof, api.ErrProofNotReady or api.ErrProofNotStored above all; others are
// [ErrTooLarge] and those of [Client.Download].
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

func (c *Client) bundle(ctx context.Context, height types.Height, limit int64) (bundle []byte, err error) {
	body, _, err := c.Download(ctx, fmt.Sprintf("/proof/%d", height), 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if bundle, err = io.ReadAll(io.LimitReader(body, limit+1)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if int64(len(bundle)) > limit {
		return nil, fmt.Errorf("the bundle of block %d: %w: over %d bytes", height, ErrTooLarge, limit)
	}
	return bundle, nil
}
