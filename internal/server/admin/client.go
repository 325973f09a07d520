package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxAnswer bounds the bytes read of an answer.
const maxAnswer = 16 << 10

// Client calls a node's admin address.
type Client struct {
	URL       string
	TokenFile string // file of the node's admin token; empty: none is sent
}

// ErrToken is returned when the node requires its admin token.
var ErrToken = errors.New("the node requires its admin token: give the token's file with --admin-token-file. It is " +
	"DATA-DIR/admin.token of the node; on another machine, use a copy")

// Do sends a request with a body and its media type; both may be empty. The caller must close the answer's body. If the
// node refuses the request, the error says what to do.
func (c Client) Do(ctx context.Context, method, path, media string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, body)
	if err != nil {
		return nil, err
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	why := errors.New("no token file is given")
	if c.TokenFile != "" {
		var token Token
		if token, why = ReadToken(c.TokenFile); why == nil { // otherwise the route may need no token
			r.Header.Set("Authorization", scheme+token.String())
			why = fmt.Errorf("%s contains a different token", c.TokenFile)
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return nil, errors.Join(fmt.Errorf("%w (%w)", ErrToken, why), response.Body.Close())
	case http.StatusForbidden, http.StatusUnsupportedMediaType, http.StatusServiceUnavailable:
		text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		refusal := fmt.Errorf("the node answered %s: %s", response.Status, strings.TrimSpace(string(text)))
		return nil, errors.Join(refusal, err, response.Body.Close())
	}
	return response, nil
}
