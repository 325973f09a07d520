package front

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// connState is the state of a connection. Another goroutine may close a connection that has no complete request.
type connState int8

const (
	stateIdle    connState = iota // no byte of a request has arrived
	stateReading                  // part of a request has arrived
	stateActive                   // the whole request has arrived
	stateClosed
)

const (
	// inSize is the initial size of a connection's read buffer; it grows with a larger request.
	inSize = 4 << 10
	// deadlineSlack is how much earlier than asked a deadline may expire: setting one for each request would cost more
	// than parsing it.
	deadlineSlack = time.Second
	// After a refusal the rest of the request is read and dropped; otherwise the kernel would reset the connection
	// before the client reads the refusal. That ends after lingerTime, after lingerBytes, or when nothing arrives for
	// lingerPause.
	lingerTime  = 5 * time.Second
	lingerPause = 500 * time.Millisecond
	lingerBytes = 64 << 20
	// closingBytes bounds the bytes read while a client's WebSocket closes: enough for the client's close frame.
	closingBytes = 64 << 10
)

var errClosed = errors.New("front: the server has closed the idle connection")

// buffers holds buffers for requests and answers.
var buffers = sync.Pool{New: func() any { b := make([]byte, inSize); return &b }}

func putBuffer(b []byte) {
	if cap(b) <= FreeBytes { // larger buffers are left to the garbage collector
		b = b[:cap(b)]
		buffers.Put(&b)
	}
}

// conn is a client's connection.
type conn struct {
	net.Conn
	raw     net.Conn // the client's connection itself; closing it ends the connection's loop
	stream  *stream  // between raw and TLS
	server  *Server
	peer    peer
	closed  sync.Once
	closing atomic.Bool // its WebSocket is closing

	// The connection's state in the server's lists, guarded by the server's lock:
	state connState
	since time.Time // start of the present idle or reading state
	site  *site
	idle  link[conn] // in a list of connections without a complete request
	ripe  bool       // in the site's list ripe

	in         []byte // in[start:end] is read and unused; nil while the buffer is not needed
	start, end int

	readUntil  time.Time // read deadline of an idle connection; zero if another deadline is set
	writeUntil time.Time // current write deadline
}

// NetConn returns the underlying connection, for callers that set its options.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close ends the connection and forgets it.
func (c *conn) Close() (err error) {
	c.closed.Do(func() {
		err = c.Conn.Close()
		c.server.forget(c)
	})
	return err
}

// CloseWrite signals to the client that nothing follows (net/http calls it before it closes).
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// startTLS performs the TLS handshake and reports whether it succeeded.
func (c *conn) startTLS() bool {
	secured := tls.Server(c.Conn, c.server.tls)
	until := c.server.now().Add(preambleTimeout)
	if secured.SetDeadline(until) != nil || secured.HandshakeContext(c.server.context) != nil {
		return false
	}
	c.Conn = secured
	return secured.SetDeadline(time.Time{}) == nil
}

// loop answers requests until the connection ends. It returns true, with the request in the buffer, if net/http must
// answer the next one.
func (c *conn) loop() (handOver bool) {
	defer c.releaseIn()
	for {
		h, size, err := c.readPreamble()
		if err != nil {
			c.fail(err)
			return false
		}
		if !h.simple {
			return c.begin() && c.Conn.SetDeadline(time.Time{}) == nil
		}
		if !c.answer(&h, size) {
			return false
		}
		if c.start == c.end {
			c.start, c.end = 0, 0
			if len(c.in) > FreeBytes { // the large buffer is released
				putBuffer(c.in)
				c.in = nil
			}
			if !c.park(stateIdle) {
				return false
			}
		}
		if c.server.draining.Load() {
			return false
		}
	}
}

// readPreamble reads until a preamble is in the buffer and parses it. The preamble points into the buffer.
func (c *conn) readPreamble() (h preamble, size int, err error) {
	if c.start == c.end {
		if err := c.waitForRequest(); err != nil {
			return h, 0, err
		}
	}
	timed := false
	for scanned := 0; ; {
		unread := c.in[c.start:c.end]
		if size, err = preambleEnd(unread, scanned); err != nil {
			return h, 0, err
		}
		if size > 0 {
			h, err = parsePreamble(unread[:size])
			return h, size, err
		}
		scanned = lastLine(unread)
		if !timed {
			timed = true
			if !c.park(stateReading) {
				return h, 0, errClosed
			}
			if err := c.setReadDeadline(preambleTimeout); err != nil {
				return h, 0, err
			}
		}
		if err := c.fill(maxPreambleBytes + 1); err != nil {
			return h, 0, unexpected(err)
		}
	}
}

// lastLine returns the start of the last, incomplete line. preambleEnd need not scan the bytes before it again.
func lastLine(b []byte) int {
	for i := len(b); i > 0; i-- {
		if b[i-1] == '\n' {
			return i
		}
	}
	return 0
}

// waitForRequest waits for the first byte of a request.
func (c *conn) waitForRequest() error {
	if now := c.server.now(); c.readUntil.Sub(now) < idleTimeout-deadlineSlack {
		c.readUntil = now.Add(idleTimeout)
		if err := c.SetReadDeadline(c.readUntil); err != nil {
			return err
		}
	}
	if c.in == nil {
		c.in = *buffers.Get().(*[]byte)
	}
	n, err := c.Conn.Read(c.in)
	c.end = n
	if n == 0 {
		if err == nil {
			return io.ErrNoProgress
		}
		return io.EOF // a client may leave or stay silent between requests
	}
	return nil
}

// begin marks a connection as active: a whole request has arrived. It returns false if the server has closed it.
func (c *conn) begin() bool {
	c.stream.leave()
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.state == stateClosed {
		return false
	}
	c.server.idlers.unpark(c)
	c.state = stateActive
	return true
}

// park marks a connection as idle or reading from now on. After leastIdle it may make way for a new one. park returns
// false if the server has closed the connection.
func (c *conn) park(state connState) bool {
	now := c.server.now()
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.state == stateClosed {
		return false
	}
	c.server.idlers.unpark(c)
	c.server.idlers.park(c, state, now)
	return true
}

// setReadDeadline sets the deadline for a request that has begun.
func (c *conn) setReadDeadline(in time.Duration) error {
	c.readUntil = time.Time{}
	return c.SetReadDeadline(c.server.now().Add(in))
}

// fill reads more bytes, into a buffer for up to want unread bytes. The buffer grows with the bytes that arrive, not
// with the announced length.
func (c *conn) fill(want int) error {
	if c.end == len(c.in) {
		unread := c.in[c.start:c.end]
		if c.start > 0 && len(unread) < len(c.in)/2 {
			c.end = copy(c.in, unread)
		} else {
			grown := make([]byte, max(len(unread)+1, min(2*len(c.in), want)))
			c.end = copy(grown, unread)
			putBuffer(c.in)
			c.in = grown
		}
		c.start = 0
	}
	n, err := c.Conn.Read(c.in[c.end:])
	c.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF: the stream ended within a request.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fail answers a request that cannot be read, if the client may still read the answer.
func (c *conn) fail(err error) {
	switch {
	case errors.Is(err, errMalformed):
		c.server.counts.malformed.Add(1)
		c.refuse(&refusal{status: 400, sentence: "The request is malformed."}, "", true)
	case errors.Is(err, errPreambleTooLarge):
		c.server.counts.tooLarge.Add(1)
		c.refuse(&refusal{status: 431, sentence: "The request's header is too large."}, "", true)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.server.counts.timeouts.Add(1)
	}
}

// linger gives the client time to read the last answer before the connection closes, by reading the rest of its
// request.
func (c *conn) linger() {
	if c.CloseWrite() == nil {
		c.skip(c.Conn, c.SetReadDeadline)
	}
}

// skip reads and drops the rest of a refused request. Meanwhile the connection may make way for a new one.
func (c *conn) skip(r io.Reader, until func(time.Time) error) {
	if !c.park(stateReading) {
		return
	}
	room := *buffers.Get().(*[]byte)
	defer putBuffer(room)
	end := c.server.now().Add(lingerTime)
	for left := lingerBytes; left > 0; {
		pause := c.server.now().Add(lingerPause)
		if end.Before(pause) {
			pause = end
		}
		if until(pause) != nil {
			return
		}
		n, err := r.Read(room)
		if left -= n; err != nil {
			return
		}
	}
}

// releaseIn returns the buffer to the pool, unless it holds bytes for net/http.
func (c *conn) releaseIn() {
	if c.in != nil && c.start == c.end {
		putBuffer(c.in)
		c.in = nil
	}
}
