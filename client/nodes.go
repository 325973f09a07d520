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
	// The pauses until a call is asked again double from the first to the longest.
	firstRetryPause   = 200 * time.Millisecond
	longestRetryPause = 5 * time.Second
	// longestAsked is the most that a node is believed that asks to wait.
	longestAsked = time.Hour
)

// node is a node that a client may ask.
type node struct {
	rpc       *jsonrpc.Client
	base      string // URL, without a slash at its end
	webSocket string // URL of subscriptions
}

// nodes are those of a client: the current one is asked, and the next after a failure that it may not have.
type nodes struct {
	all     []node
	current atomic.Uint32
	retry   time.Duration
	timeout time.Duration
}

// init makes the nodes of URLs.
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

// now is the node that is asked.
func (n *nodes) now() *node { return &n.all[int(n.current.Load())%len(n.all)] }

// failed has the next node asked after an error that it may not have.
func (n *nodes) failed(asked *node, err error) {
	if passes(err) && len(n.all) > 1 && n.now() == asked {
		n.current.Add(1)
	}
}

// retry makes a request until it succeeds, fails for good, or has been made again for as long as the client's options
// say. With sends it is made again only if it did not arrive.
func (c *Client) retry(ctx context.Context, sends bool, request func(context.Context, *node) error) error {
	var waits patience
	for {
		err := c.try(ctx, request)
		if ctx.Err() != nil || !mayPass(err, sends) || !waits.more(ctx, c, err) {
			return err
		}
	}
}

// try makes a request of the current node, in bounded time.
func (c *Client) try(ctx context.Context, request func(context.Context, *node) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.nodes.timeout)
	defer cancel()
	asked := c.nodes.now()
	err := request(ctx, asked)
	c.nodes.failed(asked, err)
	return err
}

// patience is how long one call has been asked again.
type patience struct {
	began  time.Time
	paused time.Duration
	failed int
}

// more waits until a call may be asked again that failed with err; false if that is not to be waited for.
func (p *patience) more(ctx context.Context, c *Client, err error) bool {
	if p.failed++; p.failed == 1 {
		p.began = time.Now()
	}
	pause := retryAfter(err)
	if rounds := p.failed / len(c.nodes.all); pause == 0 && p.failed%len(c.nodes.all) == 0 { // each node was asked
		pause = min(firstRetryPause<<min(rounds-1, 10), longestRetryPause)
		pause -= rand.N(pause/4 + 1) // so that many do not come at once
	}
	if max(p.paused, time.Since(p.began))+pause >= c.nodes.retry {
		return false
	}
	p.paused += pause
	return pause == 0 || c.wait(ctx, pause) == nil
}

// sends reports whether a method changes something: asked twice it could be done twice, or its second answer be
// another.
func sends(method string) bool {
	return strings.HasPrefix(method, api.SendRawTransaction.Name) || strings.HasPrefix(method, "dev_")
}

// mayPass reports whether a call that failed may be asked again.
func mayPass(err error, sends bool) bool { return err != nil && (unsent(err) || !sends && passes(err)) }

// passes reports whether a call that failed may do better later.
func passes(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return slices.Contains([]int{
			http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}, status.Status)
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, errRate) || errors.Is(err, api.ErrBusy)
}

// errRate matches what a node answers whose client asks too much.
var errRate = &Error{Code: jsonrpc.CodeLimit, Data: map[string]any{"reason": "rate"}}

// unsent reports whether a request that failed was surely not carried out.
func unsent(err error) bool {
	var status *StatusError
	var network *net.OpError
	return errors.As(err, &status) && status.Status == http.StatusTooManyRequests ||
		errors.As(err, &network) && network.Op == "dial"
}

// retryAfter is how long a node asks to wait, 0 where it does not say.
func retryAfter(err error) time.Duration {
	var status *StatusError
	if errors.As(err, &status) {
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
