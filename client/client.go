package client

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Error is an error returned by the node: a code, a message, and data for programs.
type Error = jsonrpc.Error

// StatusError is an HTTP status other than 200. Errors with one match [ErrUnreachable] too.
type StatusError = jsonrpc.StatusError

// Errors that a call returns, wrapped, when the node did not answer with an [*Error].
var (
	// ErrUnreachable is returned when no response arrived. The node may or may not have received the call.
	ErrUnreachable = jsonrpc.ErrUnreachable
	// ErrBadAnswer is returned when the response does not answer the call.
	ErrBadAnswer = jsonrpc.ErrBadAnswer
)

// Client calls the methods of one node, or of several behind a load balancer. Queries of the latest state are answered
// by a node that has every block of which this client has awaited a receipt. A Client is safe for concurrent use.
type Client struct {
	nodes   nodes
	chainID atomic.Pointer[uint64] // nil until fetched
	seen    atomic.Uint64          // greatest height of a block with an awaited transaction
	wait    func(context.Context, time.Duration) error

	noncesMu sync.Mutex
	nonces   map[types.Account]sentNonce // per account, the nonce after the newest transaction sent

	handshake http.Client   // for subscriptions and downloads
	token     func() string // nil without a token
	once      bool          // a subscription does not reconnect
}

type options struct {
	rpc       []jsonrpc.ClientOption
	fallback  []string
	retry     time.Duration
	timeout   time.Duration
	wait      func(context.Context, time.Duration) error
	token     func() string
	transport *http.Transport
	once      bool
}

// An Option changes what [New] returns.
type Option func(*options)

// WithToken sends token as a bearer token (RFC 6750) with every request: an API key or a JWT, where the node asks for
// one.
func WithToken(token string) Option {
	return WithTokenSource(func() string { return token })
}

// WithTokenSource calls source for the bearer token of each request, for tokens that are renewed. source may be called
// concurrently.
func WithTokenSource(source func() string) Option {
	return func(o *options) {
		o.token = source
		o.rpc = append(o.rpc, jsonrpc.WithTokenSource(source))
	}
}

// WithTransport sends requests through transport, for example one with its own certificates.
func WithTransport(transport *http.Transport) Option {
	return func(o *options) {
		o.transport = transport
		o.rpc = append(o.rpc, jsonrpc.WithTransport(transport))
	}
}

// WithFallback names other nodes of the same chain. When a node does not answer, the client switches to the next.
func WithFallback(urls ...string) Option {
	return func(o *options) { o.fallback = urls }
}

// WithRetry sets how long to retry a call that no node answers; the default is 30 s, and 0 disables retries. Reads are
// always retried, but a call that changes something only if it did not reach the node. The client waits as long as a
// node asks it to.
func WithRetry(most time.Duration) Option {
	return func(o *options) { o.retry = most }
}

// WithTimeout sets the timeout of each request; the default is 40 s. svc_sendRawTransactionSync takes up to 30 s.
func WithTimeout(most time.Duration) Option {
	return func(o *options) { o.timeout = most }
}

// WithWait replaces the function that waits between two polls. wait returns after the duration, or with the context's
// error if that ends first.
func WithWait(wait func(context.Context, time.Duration) error) Option {
	return func(o *options) { o.wait = wait }
}

// WithoutReconnect makes a subscription end with [ErrUnreachable] when its connection breaks, for callers that must
// notice each break.
func WithoutReconnect() Option {
	return func(o *options) { o.once = true }
}

// New returns a client of the node at an http or https URL. It connects when it is first called.
func New(url string, opts ...Option) (*Client, error) {
	o := options{wait: sleep, retry: defaultRetry, timeout: defaultTimeout}
	for _, option := range opts {
		option(&o)
	}
	c := &Client{wait: o.wait, token: o.token, once: o.once}
	if err := c.nodes.init(append([]string{url}, o.fallback...), o); err != nil {
		return nil, err
	}
	transport := o.transport
	if transport == nil {
		transport = http.DefaultTransport.(*http.Transport)
	}
	transport = transport.Clone()
	transport.MaxIdleConnsPerHost = max(transport.MaxIdleConnsPerHost, idleDownloads)
	c.handshake.Transport = transport
	// Do not follow redirects: one would send the token elsewhere.
	c.handshake.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// idleDownloads is the number of idle connections kept for downloads: a follower node has several downloads at a time.
const idleDownloads = 8

// Close closes idle connections. A later call opens new ones.
func (c *Client) Close() {
	for _, n := range c.nodes.all {
		n.rpc.Close()
	}
	c.handshake.CloseIdleConnections()
}

// sleep returns after d, or with the context's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Invoke calls a method that package api declares.
func Invoke[P, R any](ctx context.Context, c *Client, method api.Method[P, R], params P) (result R, err error) {
	err = c.retry(ctx, sends(method.Name), func(ctx context.Context, n *node) (err error) {
		result, err = jsonrpc.Invoke[P, R](ctx, n.rpc, method.Name, params)
		return err
	})
	return result, err
}

// Raw calls a method by name with positional parameters, which may be any values that encode as JSON. It decodes the
// result into the pointer result; nil discards it.
func (c *Client) Raw(ctx context.Context, method string, params []any, result any) error {
	return c.retry(ctx, sends(method), func(ctx context.Context, n *node) error {
		return n.rpc.Call(ctx, method, params, result)
	})
}
