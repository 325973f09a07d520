package client

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// Error is an error that the node answered with: a code, a sentence, and data for programs.
type Error = jsonrpc.Error

// StatusError is an HTTP status other than 200; errors with one are [ErrUnreachable] too.
type StatusError = jsonrpc.StatusError

// What a call fails with, wrapped, when the node answered with no [*Error].
var (
	// ErrUnreachable: no answer came. Whether the node received the call is not known.
	ErrUnreachable = jsonrpc.ErrUnreachable
	// ErrBadAnswer: what came is not an answer to the call.
	ErrBadAnswer = jsonrpc.ErrBadAnswer
)

// Client calls the methods of one node, or of several behind a load balancer. What it asks of the latest state comes
// from a node that has the blocks of the receipts that it waited for. It is safe for concurrent use.
type Client struct {
	nodes   nodes
	chainID atomic.Pointer[uint64] // once the node has told
	seen    atomic.Uint64          // height of the newest block with a transaction that was waited for
	nonces  sentNonces
	wait    func(context.Context, time.Duration) error

	handshake http.Client   // of subscriptions, and downloads
	token     func() string // nil: none
	once      bool          // a subscription has one connection
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

// WithTokenSource sends with every request the bearer token that source returns then: for who has it renewed. source may
// be called concurrently.
func WithTokenSource(source func() string) Option {
	return func(o *options) {
		o.token = source
		o.rpc = append(o.rpc, jsonrpc.WithTokenSource(source))
	}
}

// WithTransport sends requests through transport, for instance one with certificates of its own.
func WithTransport(transport *http.Transport) Option {
	return func(o *options) {
		o.transport = transport
		o.rpc = append(o.rpc, jsonrpc.WithTransport(transport))
	}
}

// WithFallback names other nodes of the same chain: the next is asked when one does not answer.
func WithFallback(urls ...string) Option {
	return func(o *options) { o.fallback = urls }
}

// WithRetry says how long a call that no node answers is asked again; 0 is once only, and without it 30 s. Reads are
// asked again, and what sends only if it did not arrive. A node that says when to come again is not asked before.
func WithRetry(most time.Duration) Option {
	return func(o *options) { o.retry = most }
}

// WithTimeout bounds each request in time: 40 s without it. svc_sendRawTransactionSync takes up to 30 s.
func WithTimeout(most time.Duration) Option {
	return func(o *options) { o.timeout = most }
}

// WithWait replaces how the client passes the time between two polls: wait returns after the duration, or with the
// context's error when that ends first.
func WithWait(wait func(context.Context, time.Duration) error) Option {
	return func(o *options) { o.wait = wait }
}

// WithoutReconnect ends a subscription, with [ErrUnreachable], when its connection breaks: for who must know of each
// break.
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
	// A redirect would carry the token elsewhere.
	c.handshake.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// idleDownloads is how many connections are kept for the next downloads: a node that follows another has several at a
// time.
const idleDownloads = 8

// Close closes the connections that no call is using. A later call opens new ones.
func (c *Client) Close() {
	for _, n := range c.nodes.all {
		n.rpc.Close()
	}
	c.handshake.CloseIdleConnections()
}

// sleep returns after d, or with the context's error when that ends first.
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

// Raw calls a method by its name with positional parameters, anything that encodes as JSON, and decodes the answer
// into result, a pointer; nil discards it.
func (c *Client) Raw(ctx context.Context, method string, params []any, result any) error {
	return c.retry(ctx, sends(method), func(ctx context.Context, n *node) error {
		return n.rpc.Call(ctx, method, params, result)
	})
}
