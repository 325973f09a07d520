package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/api"
)

const (
	// mostAddresses is the number of addresses available to attacks.
	mostAddresses = 256
	// retryRate is the total rate, per second, at which the connections of an attack retry after refusals. More would
	// measure the cost of refusing, as one-address does.
	retryRate = 1000
	// holdPause is the pause between requests from one address if each takes a part of its 200 calls per second. The
	// first firstHolds requests need no pause.
	holdPause  = 80 * time.Millisecond
	firstHolds = 24
	// socketSubscriptions is the greatest number of subscriptions per WebSocket.
	socketSubscriptions = 16
	// smallWindow is the receive buffer of a client that does not read, in bytes.
	smallWindow = 4096
	// resetPause is the pause between requests of a client that resets its connection resetTime after each.
	resetPause, resetTime = 200 * time.Millisecond, 2 * time.Millisecond
)

// freeAttacks returns the attacks whose work costs the client nothing, for a chain filled by [node.fill]. The settings
// determine the number of their addresses.
func freeAttacks() []attack {
	noEvents := func(chain) string { return `"events",{"from_block":1,"event_name":"None"}` }
	watched := func(chain) string { return watchedAccounts }
	oldBlocks := func(c chain) string { return fmt.Sprintf(`"newBlocks",{"from_block":%d}`, c.Fullest) }
	pages := calling("svc_getBlocks", func(chain) string { return `{"from_height":1,"to_height":256}` })
	fullBlock := calling("svc_getBlocks", func(c chain) string {
		return fmt.Sprintf(`{"from_height":%d,"to_height":%[1]d,"include_transactions":true}`, c.Fullest)
	})
	return []attack{
		{"replay-events", holding(60, 5*time.Second, subscribing(noEvents))},
		{"replay-blocks", holding(250, 20*time.Second, subscribing(oldBlocks))},
		{"subscribers", holding(1000, 20*time.Second, subscribing(watched))},
		{"block-pages", asking(64, pages)},
		{"events", asking(8, calling("svc_getEvents", func(chain) string { return `{"limit":10000}` }))},
		{"full-block", asking(8, fullBlock)},
		{"trace-last", asking(8, calling("svc_traceTransaction", func(c chain) string { return quoted(c.Last) }))},
		{"trace-zeros", asking(8, calling("svc_traceTransaction", func(c chain) string { return quoted(c.Wordy) }))},
		{"head", asking(64, headOfBlocks)},
		{"view-proof", asking(8, calling("svc_getViewProof", func(c chain) string { return quoted(c.Large) + `,"view"` }))},
		{"unread-blocks", holding(64, 15*time.Second, fullBlock)},
		{"resets", resetting(64, pages)},
		{"unread-files", holding(64, 15*time.Second, files(func(chain) []string { return []string{"/blocks/1-256"} }))},
		{"unread-snapshots", holding(64, 15*time.Second, files(func(c chain) []string { return []string{c.Snapshot} }))},
		{"unread-proofs", holding(64, 15*time.Second, files(func(c chain) []string { return []string{c.Proof, c.Accesses} }))},
		{"handshakes", shaking(64)},
		{"pings", streaming(64, bytes.Repeat(pingFrame, 2048))},
		{"fragments", streaming(64, bytes.Repeat(emptyFragment, 2048))},
		{"large-sends", largeSends(64)},
		{"slow-requests", trickling(4000)},
		{"metrics", scraping(48)},
	}
}

func quoted(id fmt.Stringer) string { return `"` + id.String() + `"` }

// freely returns a request of a client whose address is in the header fields.
type freely func(c chain, fields string) request

// grudging are the correct outcomes of an expensive request: a response, a refusal because of the client's limits, or a
// response cut off because its client reads too slowly and others need the memory.
var grudging = []string{okay, cut, "HTTP 429", busyBefore, busyAfter, timeUp, "-32040 rate"}

func calling(method string, params func(chain) string) freely {
	return func(c chain, fields string) request {
		body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":[%s]}`, method, params(c))
		return postWith(fields, body, grudging...)
	}
}

func headOfBlocks(_ chain, fields string) request {
	head := "HEAD /blocks/1-256 HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: zstd\r\n" + fields + "\r\n"
	return request{wire: []byte(head), wants: [][]string{grudging}}
}

// watchedAccounts are the parameters of a subscription to the payments of as many accounts as allowed.
var watchedAccounts = func() string {
	accounts := make([]string, api.MaxPaymentAccounts)
	for i := range accounts {
		accounts[i] = fmt.Sprintf(`"0x%064x"`, i)
	}
	return `"payments",{"accounts":[` + strings.Join(accounts, ",") + `]}`
}()

// subscribing returns the beginning of a WebSocket connection: one message with as many subscriptions as allowed.
func subscribing(params func(chain) string) freely {
	var once sync.Once
	var frame []byte // shared by all clients
	return func(c chain, fields string) request {
		once.Do(func() {
			var calls []string
			for i := range socketSubscriptions {
				call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"svc_subscribe","params":[%s]}`, i, params(c))
				calls = append(calls, call)
			}
			frame = textFrame("[" + strings.Join(calls, ",") + "]")
		})
		r := upgrade(c, fields)
		r.upgraded = frame
		return r
	}
}

// textFrame returns a text frame of more than 125 bytes, with a zero mask (RFC 6455, section 5.2).
func textFrame(message string) []byte {
	frame := []byte{0x81}
	if length := uint64(len(message)); length <= math.MaxUint16 {
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(length))
	} else {
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), length)
	}
	return append(append(frame, 0, 0, 0, 0), message...)
}

// freeClient is the client of one connection in an attack with free work.
type freeClient struct {
	number, of int    // its number, and the number of clients in the attack
	addresses  int    // number of addresses in the attack
	fields     string // header fields that name its address
	request    request
	node       *node
	tally      *tally
}

// freeClients runs clients, at least one per address, until ctx ends.
func freeClients(count int, what freely, work func(ctx context.Context, c *freeClient)) func(
	context.Context, settings, int,
) (func(context.Context, *node, *tally), error) {
	return func(_ context.Context, s settings, _ int) (func(context.Context, *node, *tally), error) {
		count := max(count, s.addresses)
		return func(ctx context.Context, n *node, t *tally) {
			inParallel(count, func(i int) {
				fields := fmt.Sprintf("X-Forwarded-For: 198.51.100.%d\r\n", i%s.addresses)
				work(ctx, &freeClient{i, count, s.addresses, fields, what(s.chain, fields), n, t})
			})
		}, nil
	}
}

// pause waits, and reports whether the attack continues.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// dial connects, however long the node takes.
func (c *freeClient) dial(ctx context.Context) *link {
	l, err := c.node.dial(ctx, nextAddress())
	if err != nil && ctx.Err() == nil {
		c.tally.fail("no connection", err.Error())
	}
	return l
}

// asking returns an attack whose clients repeat the same request after each response, and discard the responses.
func asking(
	count int, what freely,
) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	return freeClients(count, what, func(ctx context.Context, c *freeClient) {
		var l *link
		for ctx.Err() == nil {
			if l == nil {
				if l = c.dial(ctx); l == nil {
					return
				}
			}
			outcome, goesOn := l.skim(c.request.wire)
			if ctx.Err() != nil {
				break
			}
			c.tally.count(&c.request, []string{outcome})
			if !goesOn {
				l.end()
				l = nil
			}
			if outcome != okay {
				pause(ctx, time.Duration(c.of)*time.Second/retryRate)
			}
		}
		if l != nil {
			l.end()
		}
	})
}

// holding returns an attack whose clients send a request, do not read for a time, disconnect and repeat.
func holding(
	count int, hold time.Duration, what freely,
) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	return freeClients(count, what, func(ctx context.Context, c *freeClient) {
		later := max(0, c.number-firstHolds*c.addresses)
		goesOn := pause(ctx, time.Duration(later)*holdPause/time.Duration(c.addresses))
		for goesOn {
			l := c.dial(ctx)
			if l == nil {
				return
			}
			_ = l.tcp.SetReadBuffer(smallWindow) // with a larger buffer, more is received
			outcome := l.leave(&c.request)
			if ctx.Err() == nil {
				c.tally.count(&c.request, []string{outcome})
			}
			goesOn = pause(ctx, hold)
			l.end()
		}
	})
}

// resetting returns an attack whose clients reset their connection right after each request.
func resetting(
	count int, what freely,
) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	return freeClients(count, what, func(ctx context.Context, c *freeClient) {
		for pause(ctx, resetPause) {
			l := c.dial(ctx)
			if l == nil {
				return
			}
			_, _ = l.Write(c.request.wire) // whether or not it was received
			pause(ctx, resetTime)
			_ = l.tcp.SetLinger(0) // a connection that the node closed needs no reset
			l.end()
			c.tally.note("reset")
		}
	})
}
