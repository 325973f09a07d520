package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/api"
)

const (
	// mostAddresses is how many addresses there are for attacks.
	mostAddresses = 256
	// retryRate is how often a second all connections of an attack together ask again after a refusal. More would measure
	// what refusing costs, as one-address does.
	retryRate = 1000
	// holdPause is between two requests from one address of which each takes a part of a second's 200 calls; the first
	// need no pause.
	holdPause  = 80 * time.Millisecond
	firstHolds = 24
	// socketSubscriptions are as many as a WebSocket may have.
	socketSubscriptions = 16
	// smallWindow is the receive buffer of a client that reads nothing, in bytes.
	smallWindow = 4096
	// resetPause is between two requests of a client that resets its connection resetTime after each.
	resetPause, resetTime = 200 * time.Millisecond, 2 * time.Millisecond
)

// freeAttacks are those whose work costs a client nothing, on a chain that [node.fill] has filled. They come from as
// many addresses as the settings say.
func freeAttacks() []attack {
	noEvents := func(chain) string { return `"events",{"from_block":1,"event_name":"None"}` }
	watched := func(chain) string { return watchedAccounts }
	oldBlocks := func(c chain) string { return fmt.Sprintf(`"newBlocks",{"from_block":%d}`, c.fullest) }
	pages := calling("svc_getBlocks", func(chain) string { return `{"from_height":1,"to_height":256}` })
	fullBlock := calling("svc_getBlockByNumber", func(c chain) string { return fmt.Sprintf(`"0x%x",true`, c.fullest) })
	return []attack{
		{"replay-events", holding(60, 5*time.Second, subscribing(noEvents))},
		{"replay-blocks", holding(250, 20*time.Second, subscribing(oldBlocks))},
		{"subscribers", holding(1000, 20*time.Second, subscribing(watched))},
		{"block-pages", asking(64, pages)},
		{"events", asking(8, calling("svc_getEvents", func(chain) string { return `{"limit":10000}` }))},
		{"full-block", asking(8, fullBlock)},
		{"trace-last", asking(8, calling("svc_traceTransaction", func(c chain) string { return quoted(c.last) }))},
		{"trace-zeros", asking(8, calling("svc_traceTransaction", func(c chain) string { return quoted(c.wordy) }))},
		{"head", asking(64, headOfBlocks)},
		{"view-proof", asking(8, calling("svc_getViewProof", func(c chain) string { return quoted(c.large) + `,"view"` }))},
		{"unread-blocks", holding(64, 15*time.Second, fullBlock)},
		{"resets", resetting(64, pages)},
	}
}

func quoted(id fmt.Stringer) string { return `"` + id.String() + `"` }

// freely is the request of a client whose header fields name its address.
type freely func(c chain, fields string) request

// grudging are right outcomes of what costs a node much: an answer, or that the client has had its share.
var grudging = []string{okay, "HTTP 429", busyBefore, busyAfter, timeUp, "-32040 rate"}

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

// watchedAccounts are the parameters of a subscription to the payments of as many accounts as it may name.
var watchedAccounts = func() string {
	accounts := make([]string, api.MaxPaymentAccounts)
	for i := range accounts {
		accounts[i] = fmt.Sprintf(`"0x%064x"`, i)
	}
	return `"payments",{"accounts":[` + strings.Join(accounts, ",") + `]}`
}()

// subscribing is the beginning of a WebSocket, with one message of as many subscriptions as it may have.
func subscribing(params func(chain) string) freely {
	var once sync.Once
	var frame []byte // of all clients
	return func(c chain, fields string) request {
		once.Do(func() {
			var calls []string
			for i := range socketSubscriptions {
				call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"svc_subscribe","params":[%s]}`, i, params(c))
				calls = append(calls, call)
			}
			frame = textFrame("[" + strings.Join(calls, ",") + "]")
		})
		wire := []byte("GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\n" + fields + "Upgrade: websocket\r\nConnection: Upgrade\r\n" +
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		return request{wire: wire, upgraded: frame, wants: [][]string{grudging}}
	}
}

// textFrame is one frame of text of more than 125 bytes, with a mask of zeros (RFC 6455, section 5.2).
func textFrame(message string) []byte {
	frame := []byte{0x81}
	if length := uint64(len(message)); length <= math.MaxUint16 {
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(length))
	} else {
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), length)
	}
	return append(append(frame, 0, 0, 0, 0), message...)
}

// freeClient is one connection's client of an attack with free work.
type freeClient struct {
	number, of int // of its attack
	addresses  int // of the attack
	request    request
	node       *node
	tally      *tally
}

// freeClients lets clients work, at least one from each address, until ctx ends.
func freeClients(count int, what freely, work func(ctx context.Context, c *freeClient)) func(
	context.Context, settings, int,
) (func(context.Context, *node, *tally), error) {
	return func(_ context.Context, s settings, _ int) (func(context.Context, *node, *tally), error) {
		count := max(count, s.addresses)
		return func(ctx context.Context, n *node, t *tally) {
			inParallel(count, func(i int) {
				fields := fmt.Sprintf("X-Forwarded-For: 198.51.100.%d\r\n", i%s.addresses)
				work(ctx, &freeClient{i, count, s.addresses, what(s.chain, fields), n, t})
			})
		}, nil
	}
}

// pause waits, and reports whether the attack goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// dial connects, for which an attack waits as long as the node takes.
func (c *freeClient) dial(ctx context.Context) *link {
	l, err := c.node.dial(ctx, nextAddress())
	if err != nil && ctx.Err() == nil {
		c.tally.fail("no connection", err.Error())
	}
	return l
}

// asking is an attack whose clients ask for the same again and again, each as soon as it is answered, and read the
// answers without looking at them.
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

// holding is an attack whose clients ask, read nothing for a time, leave and come again.
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
			_ = l.Conn.(*net.TCPConn).SetReadBuffer(smallWindow) // if it is larger, more is taken
			outcome := l.leave(&c.request)
			if ctx.Err() == nil {
				c.tally.count(&c.request, []string{outcome})
			}
			goesOn = pause(ctx, hold)
			l.end()
		}
	})
}

// resetting is an attack whose clients reset their connection as soon as they have asked.
func resetting(
	count int, what freely,
) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	return freeClients(count, what, func(ctx context.Context, c *freeClient) {
		for pause(ctx, resetPause) {
			l := c.dial(ctx)
			if l == nil {
				return
			}
			_, _ = l.Write(c.request.wire) // whether or not it was taken
			pause(ctx, resetTime)
			_ = l.Conn.(*net.TCPConn).SetLinger(0) // a connection that the node closed needs no reset
			l.end()
			c.tally.note("reset")
		}
	})
}
