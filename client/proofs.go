package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

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

// ProofBundle downloads the bundle of a block's proof, of at most limit bytes, that package proof verifies.
func (c *Client) ProofBundle(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	return c.download(ctx, fmt.Sprintf("/proof/%d", height), limit)
}

// maxReason is how much is read of an answer that says what is wrong.
const maxReason = 1 << 10

// download gets what the node serves under a path, of at most limit bytes.
func (c *Client) download(ctx context.Context, path string, limit int64) (content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.handshake.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		reason, readErr := io.ReadAll(io.LimitReader(response.Body, maxReason))
		return nil, errors.Join(fmt.Errorf("%w: %s: %s", ErrBadAnswer, response.Status, strings.TrimSpace(string(reason))), readErr)
	}
	if content, err = io.ReadAll(io.LimitReader(response.Body, limit+1)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%w: %s is over %d bytes", ErrBadAnswer, path, limit)
	}
	return content, nil
}
