package client

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
)

const (
	defaultRetry   = 30 * time.Second
	defaultTimeout = 40 * time.Second
	// The pauses between retries double from the first to the longest.
	firstRetryPause   = 200 * time.Millisecond
	longestRetryPause = 5 * time.Second
	// longestAsked bounds the wait that a node may ask for.
	longestAsked = time.Hour
)

// node is a node that a client may ask.
type node struct {
	rpc       *jsonrpc.Client
	base      string // URL without a trailing slash
	webSocket string // URL for subscriptions
}

// nodes holds the nodes of a client. Requests go to the current one; a failure that another node may not have switches
// to the next.
type nodes struct {
	all     []node
	current atomic.Uint32
	retry   time.Duration
	timeout time.Duration
}

// init sets up the nodes at the given URLs.
func (n *nodes) init(urls []string, o options) error {
	n.retry, n.timeout = o.retry, o.timeout
	for _, url := range urls {
		rpc, err := jsonrpc.NewClient(url, o.rpc...)
		if err != nil {
			return err
		}
		webSocket, err := webSocketURL(url)
		if err != nil {
			return err
		}
		n.all = append(n.all, node{rpc: rpc, base: strings.TrimRight(url, "/"), webSocket: webSocket})
	}
	return nil
}

// now returns the current node.
func (n *nodes) now() *node { return &n.all[int(n.current.Load())%len(n.all)] }

// failed switches to the next node after an error that may be specific to the asked one.
func (n *nodes) failed(asked *node, err error) {
	if passes(err) && len(n.all) > 1 && n.now() == asked {
		n.current.Add(1)
	}
}

// retry repeats a request until it succeeds, fails permanently, or the retry period ends. With sends it repeats the
// request only if it did not reach the node.
func (c *Client) retry(ctx context.Context, sends bool, request func(context.Context, *node) error) error {
	var waits patience
	for {
		err := c.try(ctx, request)
		if ctx.Err() != nil || !mayPass(err, sends) || !waits.more(ctx, c, err) {
			return err
		}
	}
}

// try sends a request to the current node, within the client's timeout.
func (c *Client) try(ctx context.Context, request func(context.Context, *node) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.nodes.timeout)
	defer cancel()
	asked := c.nodes.now()
	err := request(ctx, asked)
	c.nodes.failed(asked, err)
	return err
}

// patience tracks the retries of one call.
type patience struct {
	began  time.Time
	paused time.Duration
	failed int
}

// more waits before the next retry of a call that failed with err. It returns false if the call must not be retried.
func (p *patience) more(ctx context.Context, c *Client, err error) bool {
	if p.failed++; p.failed == 1 {
		p.began = time.Now()
	}
	pause := retryAfter(err)
	if rounds := p.failed / len(c.nodes.all); pause == 0 && p.failed%len(c.nodes.all) == 0 { // each node was tried
		pause = min(firstRetryPause<<min(rounds-1, 10), longestRetryPause)
		pause -= rand.N(pause/4 + 1) // spread out simultaneous retries
	}
	if max(p.paused, time.Since(p.began))+pause >= c.nodes.retry {
		return false
	}
	p.paused += pause
	return pause == 0 || c.wait(ctx, pause) == nil
}

// sends reports whether a method changes something: repeating it could repeat the change or return a different answer.
func sends(method string) bool {
	return strings.HasPrefix(method, api.SendRawTransaction.Name) || strings.HasPrefix(method, "dev_")
}

// mayPass reports whether a failed call may be retried.
func mayPass(err error, sends bool) bool { return err != nil && (unsent(err) || !sends && passes(err)) }

// passes reports whether an error is transient.
func passes(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return slices.Contains([]int{
			http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}, status.Status)
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, errRate) || errors.Is(err, api.ErrBusy)
}

// errRate matches the node's refusal of a client that exceeds its rate limit.
var errRate = &Error{Code: jsonrpc.CodeLimit, Data: map[string]any{"reason": "rate"}}

// unsent reports whether a failed request was certainly not carried out.
func unsent(err error) bool {
	var status *StatusError
	var network *net.OpError
	return errors.As(err, &status) && status.Status == http.StatusTooManyRequests ||
		errors.As(err, &network) && network.Op == "dial"
}

// retryAfter returns the wait that a node asks for, or 0.
func retryAfter(err error) time.Duration {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return min(status.RetryAfter, longestAsked)
	}
	var refusal *Error
	if !errors.As(err, &refusal) {
		return 0
	}
	number, is := refusal.Data["retryAfterSeconds"].(json.Number)
	seconds, bad := strconv.ParseUint(string(number), 10, 31)
	if !is || bad != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestAsked)
}
