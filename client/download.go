package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// StateSnapshot describes the state after a block, with the files of its snapshot if the node has them.
func (c *Client) StateSnapshot(ctx context.Context, block api.BlockRef) (api.StateSnapshot, error) {
	return Invoke(ctx, c, api.GetStateSnapshot, api.GetStateSnapshotParams{Block: block})
}

// OfferedSnapshot returns the newest snapshot at or below a block whose files the node has, or nil if there is none.
func (c *Client) OfferedSnapshot(ctx context.Context, block api.BlockRef) (*api.StateSnapshot, error) {
	s, err := c.StateSnapshot(ctx, block)
	if err == nil && len(s.Chunks) == 0 && s.NewestFiles != nil {
		s, err = c.StateSnapshot(ctx, api.AtHeight(*s.NewestFiles))
	}
	switch {
	case errors.Is(err, api.ErrAboveHead), errors.Is(err, api.ErrPruned), errors.Is(err, api.ErrNoState):
		return nil, nil // the node has neither the files nor the state
	case err != nil:
		return nil, err
	case len(s.Chunks) == 0:
		return nil, nil
	}
	return &s, nil
}

// maxRefusal bounds the bytes of an error response that are kept for its message.
const maxRefusal = 512

// Download reads a file that the node serves on its public address, such as a snapshot chunk at its URL, from a byte
// offset on (RFC 9110, section 14.2). start is the offset at which body begins: from, or 0 if the node does not support
// ranges. The caller must close body. Only ctx bounds its time. An error status is returned as a [*StatusError].
func (c *Client) Download(ctx context.Context, path string, from uint64) (body io.ReadCloser, start uint64, err error) {
	response, start, err := c.get(ctx, path, from, "identity")
	if err != nil {
		return nil, 0, err
	}
	return response.Body, start, nil
}

// ErrTooLarge is returned when a response exceeds the requested limit.
var ErrTooLarge = jsonrpc.ErrTooLarge

// file downloads a whole file of at most limit bytes, which the node may compress. It returns [ErrBadAnswer],
// [ErrTooLarge] or an error of [Client.Download].
func (c *Client) file(ctx context.Context, path string, limit int64) (content []byte, err error) {
	response, _, err := c.get(ctx, path, 0, "zstd")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	size := response.ContentLength
	if size > limit {
		return nil, fmt.Errorf("%s: %w: %d bytes, at most %d", path, ErrTooLarge, size, limit)
	}
	switch coding := strings.ToLower(response.Header.Get("Content-Encoding")); {
	case coding == "zstd":
		if content, err = jsonrpc.Unshrink(response.Body, limit); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return content, nil
	case coding != "":
		return nil, fmt.Errorf("%w: %s: it has the content encoding %q, which was not requested", ErrBadAnswer, path, coding)
	case size < 0:
		return readUnannounced(path, response.Body, limit)
	}
	// Allocate once; the kernel commits memory only as it is filled.
	content = make([]byte, size)
	if _, err := io.ReadFull(response.Body, content); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return content, nil
}

// mostUnannounced bounds, in bytes, a file without a Content-Length, which takes twice as much memory: a list with one
// block of the largest size.
const mostUnannounced = types.MaxEncodedBlockBytes + 1<<20

// unannouncedPart is the size of the parts in which a file without a Content-Length is read.
const unannouncedPart = 1 << 20

func readUnannounced(path string, from io.Reader, limit int64) ([]byte, error) {
	limit = min(limit, mostUnannounced)
	from = io.LimitReader(from, limit+1)
	var parts [][]byte
	var size int64
	for {
		part := make([]byte, unannouncedPart)
		filled, err := 0, error(nil)
		for filled < len(part) && err == nil {
			var n int
			n, err = from.Read(part[filled:])
			filled += n
		}
		parts, size = append(parts, part[:filled]), size+int64(filled)
		switch {
		case size > limit:
			return nil, fmt.Errorf("%s: %w: over %d bytes, with unknown length", path, ErrTooLarge, limit)
		case err == io.EOF: // not errors.Is: the error of a broken connection may wrap io.EOF
			return slices.Concat(parts...), nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
	}
}

// get requests a file from a byte offset on, with a content coding. The caller must close the response's body.
func (c *Client) get(
	ctx context.Context, path string, from uint64, coding string,
) (response *http.Response, start uint64, err error) {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return nil, 0, fmt.Errorf("%w: %q is not a path on the node's address", ErrBadAnswer, path)
	}
	asked := c.nodes.now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, asked.base+path, nil)
	if err != nil {
		return nil, 0, err
	}
	if c.token != nil {
		request.Header.Set("Authorization", "Bearer "+c.token())
	}
	request.Header.Set("Accept-Encoding", coding)
	if from > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	response, err = c.handshake.Do(request)
	if err != nil {
		c.nodes.failed(asked, ErrUnreachable)
		return nil, 0, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	switch {
	case response.StatusCode == http.StatusOK:
		return response, 0, nil
	case response.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(response.Header.Get("Content-Range"), "bytes "+strconv.FormatUint(from, 10)+"-"):
		return response, from, nil
	}
	defer response.Body.Close()
	message, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return nil, 0, fmt.Errorf(
		"%w: %w", ErrUnreachable, &StatusError{Status: response.StatusCode, Message: string(message)},
	)
}
