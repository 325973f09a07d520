package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// slowTime bounds the time for which a node may keep a client that sends a header or a small body byte by byte: the
	// limit of 10 s, doubled because this machine is busy.
	slowTime = 20 * time.Second
	// slowPause is the pause between bytes.
	slowPause = 500 * time.Millisecond
	// slowFactor is the ratio of the number of connections of waiting attacks to that of others.
	slowFactor = 16
)

// oneAddress sends batches of valid calls from one address, behind a proxy that the node trusts. The node refuses calls
// above the rate limit.
func oneAddress(_ context.Context, s settings, _ int) (func(context.Context, *node, *tally), error) {
	calls := bytes.Join(
		slices.Repeat([][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber"}`)}, sendBatch), []byte(","),
	)
	r := postWith("X-Forwarded-For: 203.0.113.7\r\n", slices.Concat([]byte("["), calls, []byte("]")), okay, "HTTP 429")
	return func(ctx context.Context, n *node, t *tally) {
		inParallel(s.clients, func(client int) {
			proxy := net.IPv4(127, 255, byte(client>>8), byte(client))
			c, err := n.dial(ctx, proxy)
			if err != nil {
				t.fail("no connection", err.Error())
				return
			}
			defer c.end()
			for ctx.Err() == nil {
				outcomes, goesOn := c.exchange(r.wire)
				if ctx.Err() != nil {
					return
				}
				t.count(&r, outcomes)
				if !goesOn {
					return
				}
			}
		})
	}, nil
}

// slowClients sends headers and bodies byte by byte. The node must disconnect it.
func slowClients(_ context.Context, s settings, _ int) (func(context.Context, *node, *tally), error) {
	head := fmt.Appendf(nil,
		"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nX-Long: %s\r\nContent-Length: 2\r\n\r\n{}",
		bytes.Repeat([]byte("x"), 1000))
	body := post(bytes.Repeat([]byte(" "), 1000)).wire
	whole := bytes.Index(body, []byte("\r\n\r\n")) + 4
	return func(ctx context.Context, n *node, t *tally) {
		inParallel(slowFactor*s.clients, func(client int) {
			for ctx.Err() == nil {
				if client%2 == 0 {
					trickle(ctx, n, t, head, 1)
				} else {
					trickle(ctx, n, t, body, whole)
				}
			}
		})
	}, nil
}

// trickle sends the first bytes of a request at once and the others slowly.
func trickle(ctx context.Context, n *node, t *tally, wire []byte, first int) {
	c, err := n.dial(ctx, nextAddress())
	if err != nil {
		if ctx.Err() == nil {
			t.fail("no connection", err.Error())
		}
		return
	}
	defer c.end()
	begin := time.Now()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, c) // only its end matters
		close(ended)
	}()
	pause := time.NewTicker(slowPause)
	defer pause.Stop()
	_, err = c.Write(wire[:first])
	for _, b := range wire[first:] {
		if err != nil {
			break
		}
		select {
		case <-pause.C:
			_, err = c.Write([]byte{b})
		case <-ended:
			err = io.EOF
		case <-ctx.Done():
			t.note("waiting at the end")
			c.end()
			<-ended
			return
		}
		if took := time.Since(begin); took > slowTime {
			t.fail("not cut off", fmt.Sprintf("a client that sends byte by byte is still connected after %s", took))
			break
		}
	}
	if err != nil {
		t.note(cut)
	}
	c.end()
	<-ended
}

// unreadAnswers requests the longest responses and does not read them.
func unreadAnswers(_ context.Context, s settings, _ int) (func(context.Context, *node, *tally), error) {
	r := batch(`{"jsonrpc":"2.0","id":1,"method":"svc_getGenesis"}`, maxBatch)
	return func(ctx context.Context, n *node, t *tally) {
		inParallel(slowFactor*s.clients, func(int) {
			c, err := n.dial(ctx, nextAddress())
			if err != nil {
				if ctx.Err() == nil {
					t.fail("no connection", err.Error())
				}
				return
			}
			defer c.end()
			_, err = c.Write(r.wire)
			if err != nil && ctx.Err() == nil {
				t.fail("not taken", err.Error())
				return
			}
			<-ctx.Done()
			t.note("not read")
		})
	}, nil
}

// idleConnections opens more connections than the node accepts, and leaves them idle; every other one makes a call
// first. Connections above the limit displace others, and a displaced connection is reopened after a pause.
func idleConnections(_ context.Context, s settings, _ int) (func(context.Context, *node, *tally), error) {
	const dialers = 64
	call := post([]byte(`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber"}`), okay)
	return func(ctx context.Context, n *node, t *tally) {
		inParallel(dialers, func(dialer int) {
			var waiting sync.WaitGroup
			defer waiting.Wait()
			for i := dialer; i < s.idle && ctx.Err() == nil; i += dialers {
				c, err := n.dial(ctx, nextAddress())
				if err != nil {
					if ctx.Err() == nil {
						t.fail("no connection", err.Error())
					}
					return
				}
				if i%2 == 0 {
					outcomes, _ := c.exchange(call.wire)
					if ctx.Err() == nil {
						t.count(&call, outcomes)
					}
				}
				waiting.Go(func() { c.idle(ctx, n, t) })
			}
		})
	}, nil
}

// reopenPause is the time after which an attacker notices that its connection was displaced.
const reopenPause = time.Second

// idle waits, and reconnects when the connection ends.
func (l *link) idle(ctx context.Context, n *node, t *tally) {
	for {
		if l.SetDeadline(time.Time{}) == nil {
			response, err := http.ReadResponse(l.reader, nil)
			switch {
			case ctx.Err() != nil:
				t.note("idle to the end")
			case err != nil:
				t.note("displaced")
			default:
				t.count(&request{wants: [][]string{{}}}, []string{"HTTP " + strconv.Itoa(response.StatusCode)})
			}
		}
		l.end()
		select {
		case <-time.After(reopenPause):
		case <-ctx.Done():
			return
		}
		var err error
		if l, err = n.dial(ctx, nextAddress()); err != nil {
			if ctx.Err() == nil {
				t.fail("no connection", err.Error())
			}
			return
		}
	}
}
