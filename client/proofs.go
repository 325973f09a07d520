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

// AccessList calls svc_getAccessList. An empty cursor begins with the first page.
func (c *Client) AccessList(ctx context.Context, block api.BlockRef, cursor string) (api.AccessList, error) {
	return Invoke(ctx, c, api.GetAccessList, api.GetAccessListParams{Block: block, Cursor: cursor})
}

// AccessListFile downloads a block's whole access list: bincode(Vec<Access>) of at most limit bytes. It returns
// [ErrTooLarge] or an error of [Client.Download].
func (c *Client) AccessListFile(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	return c.file(ctx, fmt.Sprintf("/accesses/%d", height), limit)
}

// ProofBundle downloads the bundle of a block's proof, of at most limit bytes, for verification by package proof. If
// the node has none, the error is that returned by svc_getProof, usually api.ErrProofNotReady or api.ErrProofNotStored;
// others are [ErrTooLarge] and the errors of [Client.Download].
func (c *Client) ProofBundle(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	bundle, err := c.bundle(ctx, height, limit)
	var status *StatusError
	if !errors.As(err, &status) || status.Status != http.StatusNotFound {
		return bundle, err
	}
	if _, why := c.Proof(ctx, api.AtHeight(height)); why != nil {
		return nil, why
	}
	return c.bundle(ctx, height, limit) // it has arrived in the meantime
}

func (c *Client) bundle(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	return c.file(ctx, fmt.Sprintf("/proof/%d", height), limit)
}

// RangeProof downloads the proof of a range of blocks, of at most limit bytes, for verification by package proof. It
// returns api.ErrProofNotStored if the node has none (range_proofs of svc_getNodeInfo lists the available ranges),
// [ErrTooLarge] or an error of [Client.Download].
func (c *Client) RangeProof(ctx context.Context, from, to types.Height, limit int64) ([]byte, error) {
	encoded, err := c.file(ctx, fmt.Sprintf("/proof/%d-%d", from, to), limit)
	if status, ok := errors.AsType[*StatusError](err); ok && status.Status == http.StatusNotFound {
		return nil, fmt.Errorf("%w: blocks %d to %d together", api.ErrProofNotStored, from, to)
	}
	return encoded, err
}

// WaitProven polls, with growing pauses, until the node has a proof of a block, or returns the context's error when
// that ends. On a node that proves nothing it waits until the context ends.
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

// Headers returns the headers of a range of heights with their seals, both ends included, ascending: at most
// [api.MaxHeaders], or [api.MaxHeadersProven] with a proof of the parameters for each. Package proof follows them.
func (c *Client) Headers(ctx context.Context, from, to types.Height, proven bool) ([]api.HeaderItem, error) {
	return Invoke(ctx, c, api.GetHeaders, api.GetHeadersParams{
		Range: api.HeaderRange{From: from, To: to, Proven: proven},
	})
}

// InclusionProof returns the proof that a transaction is in a block, with its receipt, or nil if it is in none. It
// fails with [api.ErrPruned] as [Client.BlockByHash] does. Package proof verifies it.
func (c *Client) InclusionProof(ctx context.Context, id types.TxID) (*api.Inclusion, error) {
	return Invoke(ctx, c, api.GetInclusionProof, api.TransactionParams{Hash: id})
}
