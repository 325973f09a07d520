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

// connState is the state of a connection. One that has no complete request may be closed under its loop.
type connState int8

const (
	stateIdle    connState = iota // nothing of a request has come
	stateReading                  // a part of one has
	stateActive                   // all of one
	stateClosed
)

const (
	// inSize is the size of the buffer that a connection reads into; it grows with a larger request.
	inSize = 4 << 10
	// deadlineSlack is how much later than asked a deadline may be moved: moving one for each request would cost more
	// than parsing it.
	deadlineSlack = time.Second
	// What a client still sends of a request that was refused is read, or the kernel would reset the connection before the
	// client reads why. That ends after lingerTime or lingerBytes, and when nothing has come for lingerPause.
	lingerTime  = 5 * time.Second
	lingerPause = 500 * time.Millisecond
	lingerBytes = 64 << 20
	// closingBytes is how much of a client is read while its WebSocket is closed: enough for its own close.
	closingBytes = 64 << 10
)

var errClosed = errors.New("front: the server has closed the idle connection")

// buffers hold those of requests and answers.
var buffers = sync.Pool{New: func() any { b := make([]byte, inSize); return &b }}

func putBuffer(b []byte) {
	if cap(b) <= FreeBytes { // whoever gets it next may need no more
		b = b[:cap(b)]
		buffers.Put(&b)
	}
}

// standing is what a connection is among the others.
type standing struct {
	state connState
	since time.Time // it has been idle or reading, while it is
	site  *site
	idle  link[conn] // in a list of those without a complete request
	ripe  bool       // which is the site's
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	raw     net.Conn // beneath TLS; what closes the connection under its loop
	server  *Server
	peer    peer
	closed  sync.Once
	closing atomic.Bool // its WebSocket is

	standing // under the server's lock

	in         []byte // in[start:end] is read and not yet used; nil while nothing is
	start, end int

	readUntil  time.Time // the deadline of an idle connection that is set; zero where another one is
	writeUntil time.Time // the deadline of writing that is set
}

// NetConn is the connection beneath, for who sets its options.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close ends the connection and forgets it.
func (c *conn) Close() (err error) {
	c.closed.Do(func() {
		err = c.Conn.Close()
		c.server.forget(c)
	})
	return err
}

// CloseWrite tells the client that nothing follows (net/http does so before it closes).
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// startTLS makes the connection one of TLS.
func (c *conn) startTLS() bool {
	secured := tls.Server(c.Conn, c.server.tls)
	until := c.server.now().Add(preambleTimeout)
	if secured.SetDeadline(until) != nil || secured.HandshakeContext(c.server.context) != nil {
		return false
	}
	c.Conn = secured
	return secured.SetDeadline(time.Time{}) == nil
}

// loop answers requests until the connection ends. It returns true, with the request in the buffer, when one comes that
// net/http must answer.
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
			if len(c.in) > FreeBytes { // what the request held is given back
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

// lastLine is where the line begins that is not complete: what preambleEnd need not look at again comes before it.
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
		return io.EOF // a client that goes, or stays away, between requests does nothing wrong
	}
	return nil
}

// begin makes a connection active, whose request has come as a whole, unless the server has closed it.
func (c *conn) begin() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.state == stateClosed {
		return false
	}
	c.server.idlers.unpark(c)
	c.state = stateActive
	return true
}

// park makes a connection idle or reading from now on, unless the server has closed it. It may make way for a new one
// leastIdle later.
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

// setReadDeadline sets a deadline for what has begun.
func (c *conn) setReadDeadline(in time.Duration) error {
	c.readUntil = time.Time{}
	return c.SetReadDeadline(c.server.now().Add(in))
}

// fill reads more, into a buffer that holds up to want unread bytes. It grows as bytes come, not as they are announced.
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

// unexpected is the error of a stream that ends within a request.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fail answers a request that cannot be read, where the client may still hear it.
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

// linger lets the client read the last answer before the connection closes on what it still sends.
func (c *conn) linger() {
	if c.CloseWrite() == nil {
		c.skip(c.Conn, c.SetReadDeadline)
	}
}

// skip reads what the client still sends of a request that was refused. Meanwhile the connection may make way for a new
// one.
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

// releaseIn gives the buffer back, unless there is something in it for net/http.
func (c *conn) releaseIn() {
	if c.in != nil && c.start == c.end {
		putBuffer(c.in)
		c.in = nil
	}
}
