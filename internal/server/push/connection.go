package push

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// connection is a client's WebSocket connection.
type connection struct {
	server  *Server
	request *request.Request // the handshake
	ws      *websocket.Conn  // set before any other goroutine uses it

	// work ends when closing begins: nothing more is read from the chain or written. ctx ends with the connection
	// itself, which cuts reads and writes in progress.
	ctx    context.Context
	cancel context.CancelFunc
	work   context.Context
	finish context.CancelFunc

	tasks   sync.WaitGroup
	closing sync.Once

	crowd   *crowd        // guarded by the server's lock; nil once displaced
	place   *list.Element // in crowd
	opened  chan struct{} // closed when ws is set
	writing chan struct{} // holds a token while a message is rendered in a turn, or written
	ticket  Ticket        // charges notifications
	unpaid  int           // bytes of notifications that are not charged yet; the token guards it
	frames  Ticket        // charges frames that are not messages

	received atomic.Uint64 // messages
	busy     atomic.Bool   // reading waits for a call to end, or for the client's rate

	mu            sync.Mutex // guards the fields below
	subscriptions map[api.Quantity]*subscription
	lastID        api.Quantity
}

func newConnection(ctx context.Context, s *Server, r *request.Request) *connection {
	c := &connection{
		server: s, request: r, opened: make(chan struct{}), writing: make(chan struct{}, 1),
		ticket: s.config.Ticket(r), frames: s.config.Ticket(r),
		subscriptions: make(map[api.Quantity]*subscription),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.work, c.finish = context.WithCancel(c.ctx)
	return c
}

// serve reads messages until the connection ends, and returns when all its tasks have ended.
func (c *connection) serve(ws *websocket.Conn) {
	c.ws = ws
	close(c.opened)
	ws.SetReadLimit(-1) // receive has its own limit: the library reads the excess byte by byte
	c.tasks.Go(c.ping)
	c.read()
	c.closing.Do(func() { // waits for close, if that has begun
		c.finish()
		_ = ws.CloseNow() // it has ended or is broken
	})
	c.cancel()
	c.tasks.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.subscriptions.Add(-uint64(len(c.subscriptions)))
}

// read answers messages, at most MaxCalls at once. It reads nothing while that many are being answered.
func (c *connection) read() {
	slots := make(chan struct{}, c.server.config.MaxCalls)
	for {
		ticket := c.server.config.Ticket(c.request)
		body, ok := c.receive(ticket)
		if !ok {
			ticket.Release()
			return
		}
		c.received.Add(1)
		c.busy.Store(true)
		wait := ticket.Take()
		select {
		case slots <- struct{}{}:
		case <-c.work.Done():
			ticket.Release()
			return
		}
		c.tasks.Go(func() {
			defer func() { <-slots }()
			defer ticket.Release()
			c.answer(ticket, body, wait)
		})
		if wait > 0 && !c.pause(min(wait, refusedPause)) {
			return
		}
		c.busy.Store(false)
	}
}

const (
	// unreservedBytes of a message are read before memory is reserved for it.
	unreservedBytes = 16 << 10
	// refusedPause bounds how long reading stops at a time when a client has no calls left: refusing takes work
	// too.
	refusedPause = time.Second
)

// receive reads a message. It returns false if the connection has ended or must end.
func (c *connection) receive(ticket Ticket) ([]byte, bool) {
	kind, message, err := c.ws.Reader(c.ctx)
	if err != nil {
		return nil, false // the client left, was dropped, or broke the protocol, which the library has reported to it
	}
	if kind != websocket.MessageText {
		c.close(websocket.StatusUnsupportedData, "messages must be text")
		return nil, false
	}
	slow := time.AfterFunc(c.server.config.MessageTimeout, func() {
		c.close(websocket.StatusPolicyViolation, "the message took too long")
	})
	defer slow.Stop()
	body, err := io.ReadAll(io.LimitReader(message, unreservedBytes))
	if err != nil {
		return nil, false
	}
	most := int64(c.server.config.MaxRequestBytes)
	if int64(len(body)) > most {
		return nil, c.tooLarge()
	}
	if len(body) < unreservedBytes {
		return body, c.isText(body)
	}
	c.busy.Store(true)
	reserved := ticket.Reserve(c.work, c.server.config.MaxRequestBytes)
	c.busy.Store(false)
	if !reserved {
		_, _ = io.Copy(io.Discard, io.LimitReader(message, most)) // or the client would not read the reason
		c.close(websocket.StatusTryAgainLater, "the node has no memory for a message of that size: try again later")
		return nil, false
	}
	all := bytes.NewBuffer(body)
	if kept := ticket.Waits(func() { _, err = all.ReadFrom(io.LimitReader(message, most+1-int64(len(body)))) }); !kept ||
		err != nil {
		return nil, false
	}
	if int64(all.Len()) > most {
		return nil, c.tooLarge()
	}
	ticket.Shrink(all.Len())
	ticket.Spend(all.Len())
	return all.Bytes(), c.isText(all.Bytes())
}

// tooLarge closes the connection for a message over the limit. It returns false.
func (c *connection) tooLarge() bool {
	c.close(websocket.StatusMessageTooBig, "the message is too large")
	return false
}

// isText reports whether a message is UTF-8. If not, it closes the connection (RFC 6455 8.1).
func (c *connection) isText(message []byte) bool {
	if utf8.Valid(message) {
		return true
	}
	c.close(websocket.StatusInvalidFramePayloadData, "the text is not UTF-8")
	return false
}

// message is a message being answered. Its subscriptions start after the answer, so that the client learns their ids
// first.
type message struct {
	request.Request
	connection *connection
	begun      []*subscription
}

func (c *connection) newMessage(ticket Ticket) *message {
	m := &message{connection: c}
	m.Context, m.Source, m.Quota, m.Subscriber = c.work, c.request.Source, ticket, m
	m.Begin(time.Now(), 0)
	return m
}

// answer answers a message. If wait is positive, it refuses the message's calls for lack of quota.
func (c *connection) answer(ticket Ticket, body []byte, wait time.Duration) {
	message := c.newMessage(ticket)
	var ctx context.Context = &message.Request
	if wait > 0 {
		refused, cancel := context.WithCancelCause(ctx)
		cancel(jsonrpc.NewError(
			jsonrpc.CodeLimit, "too many calls", "reason", "rate", "retryAfterSeconds", math.Ceil(wait.Seconds()),
		))
		ctx = refused
	}
	answer := c.server.config.Calls.Append(ctx, body, nil)
	sent := true
	if len(answer) > 0 {
		kept := ticket.Waits(func() { sent = c.send(answer) })
		sent = sent && kept
	}
	for _, s := range message.begun {
		if sent {
			c.tasks.Go(s.serve)
		} else {
			s.release()
		}
	}
}

// send writes an answer, whose memory belongs to its ticket until then.
func (c *connection) send(answer []byte) bool {
	if c.acquireToken(c.work) != nil {
		return false
	}
	defer c.releaseToken()
	return c.write(answer)
}

// write writes one message in several parts and reports whether the connection is still usable. The caller must hold
// the connection's token. A client that does not accept the message in time is dropped.
func (c *connection) write(parts ...[]byte) bool {
	slow := time.AfterFunc(c.server.config.WriteTimeout, c.drop)
	defer slow.Stop()
	if err := c.writeParts(parts); err != nil {
		c.cancel()
		return false
	}
	return true
}

// joined is the size in bytes up to which the parts of a message are copied together. A message that fits in the
// connection's buffer goes out as one frame with one system call.
const joined = 4000

// writeParts writes the parts as one message: a small one as one frame, a larger one as fragments, since a part may be
// shared with other connections.
func (c *connection) writeParts(parts [][]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	switch {
	case len(parts) == 1:
		return c.ws.Write(c.ctx, websocket.MessageText, parts[0])
	case size <= joined:
		return c.ws.Write(c.ctx, websocket.MessageText, bytes.Join(parts, nil))
	}
	w, err := c.ws.Writer(c.ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return w.Close()
}

// drop closes the connection of a client that does not read.
func (c *connection) drop() {
	c.dropBehind(c.behind())
}

func (c *connection) dropBehind(messages uint64) {
	c.server.dropped.Add(1)
	c.close(websocket.StatusPolicyViolation, fmt.Sprintf("slow reader: %d messages behind", messages))
}

// behind returns how many messages the subscriptions have yet to send.
func (c *connection) behind() (messages uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.subscriptions {
		messages += s.behind()
	}
	return messages
}

// close ends the connection with a code and a reason of at most 123 bytes. A message being written has 5 s to complete,
// so that the reason can follow it; then the connection is cut.
func (c *connection) close(code websocket.StatusCode, reason string) {
	c.closing.Do(func() {
		c.finish()
		select {
		case <-c.opened:
			c.ticket.Closing()
			_ = c.ws.Close(code, reason) // the peer may be gone already
		case <-c.ctx.Done():
		}
		c.cancel()
	})
}

// ping closes the connection when the peer no longer answers. Silence does not count in two cases: while a message is
// being written, as no ping can be sent then, and while reading waits for calls, as no pong would be read.
func (c *connection) ping() {
	ticker := time.NewTicker(c.server.config.PingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.work.Done():
			return
		}
		if len(c.writing) > 0 || c.busy.Load() {
			continue
		}
		received := c.received.Load()
		ctx, cancel := context.WithTimeout(c.work, c.server.config.PongTimeout)
		err := c.ws.Ping(ctx)
		cancel()
		if err != nil && len(c.writing) == 0 && !c.busy.Load() && c.received.Load() == received {
			c.close(websocket.StatusPolicyViolation, "no answer to a ping")
			return
		}
	}
}
