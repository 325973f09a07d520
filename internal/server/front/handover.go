package front

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/logs"
	"github.com/cairn-chain/cairn/internal/server/request"
)

// handedListener passes handed-over connections to net/http as if they had just been accepted.
type handedListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *handedListener) hand(c *conn) {
	checked := &checkedConn{conn: c, ahead: c.in[c.start:c.end]}
	select {
	case l.conns <- checked:
	case <-l.closed:
		_ = c.Close() // the server has ended
	}
}

// Accept implements net.Listener.
func (l *handedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *handedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *handedListener) Addr() net.Addr { return &net.TCPAddr{} }

// poison is malformed to net/http in any position: NUL is allowed neither in a request line nor in a field.
var poison = []byte("\x00\r\n\x00\r\n\r\n")

// checkedConn is a connection that was handed over. It follows the boundaries of requests and holds every preamble that
// net/http reads to the rules of parsePreamble. It poisons a bad preamble before its end, so that net/http answers 400.
type checkedConn struct {
	*conn
	ahead []byte // bytes read before the handover

	preamble []byte // bytes of the present preamble; empty within a body
	body     int64  // remaining bytes of the body
	raw      bool   // boundaries are unknown from here: net/http must close the connection after this request
	late     int    // bytes read since the connection began to close
	poisoned []byte // read in place of the client's bytes, if bad
	bad      bool
}

// Read implements net.Conn. net/http reads from one goroutine at a time.
func (c *checkedConn) Read(p []byte) (n int, err error) {
	if c.bad {
		if len(c.poisoned) == 0 {
			return 0, io.EOF
		}
		n = copy(p, c.poisoned)
		c.poisoned = c.poisoned[n:]
		return n, nil
	}
	if c.closing.Load() {
		if c.late >= closingBytes {
			return 0, io.EOF
		}
		n, err = c.Conn.Read(p)
		c.late += n
		return n, err
	}
	if len(c.ahead) > 0 {
		n = copy(p, c.ahead)
		c.ahead = c.ahead[n:]
	} else if n, err = c.Conn.Read(p); n == 0 {
		return 0, err
	}
	if good := c.check(p[:n]); good < n {
		c.server.counts.malformed.Add(1)
		c.bad, c.poisoned = true, poison
		if good == 0 {
			return c.Read(p)
		}
		return good, nil
	}
	return n, err
}

// check follows the requests in b and returns how many of its bytes may be read: all of them, or those before the last
// byte of a line that makes a preamble bad.
func (c *checkedConn) check(b []byte) int {
	for done := 0; done < len(b); {
		rest := b[done:]
		if c.raw {
			return len(b)
		}
		if c.body > 0 {
			n := min(c.body, int64(len(rest)))
			c.body -= n
			done += int(n)
			continue
		}
		before := len(c.preamble)
		from := lastLine(c.preamble)
		c.preamble = append(c.preamble, rest[:min(len(rest), maxPreambleBytes+1-before)]...)
		size, err := preambleEnd(c.preamble, from)
		if err == nil && size == 0 {
			return len(b)
		}
		var h preamble
		if err == nil {
			h, err = parsePreamble(c.preamble[:size])
		}
		if err != nil {
			return done + max(0, c.badAt(size)-before)
		}
		done += size - before
		c.preamble, c.body, c.raw = c.preamble[:0], h.length, h.chunked || h.upgrade
	}
	return len(b)
}

// badAt returns the offset in the collected preamble at which the poison goes: before the last line feed that belongs
// to it, so that net/http has not yet seen the preamble's end.
func (c *checkedConn) badAt(size int) int {
	if size > 0 {
		return size - 1
	}
	for i, b := range c.preamble {
		if b == '\n' && (i == 0 || c.preamble[i-1] != '\r') {
			return i
		}
	}
	return len(c.preamble) - 1
}

// newFallback returns the net/http server for handed-over connections.
func (s *Server) newFallback() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(s.serveFallback),
		ReadHeaderTimeout: preambleTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxPreambleBytes,
		ErrorLog:          logs.Of(s.config.Log, "a connection failed"),
		BaseContext:       func(net.Listener) context.Context { return s.context },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c.(*checkedConn).conn)
		},
		// Hijacked connections, such as WebSockets, stay active. If the server has closed one meanwhile, answering
		// fails.
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateIdle:
				c.(*checkedConn).park(stateIdle)
			case http.StateActive: // the first byte of a request has arrived
				c.(*checkedConn).park(stateReading)
			}
		},
	}
}

type connKey struct{}

// preambleOf returns the parts of a net/http request that admit needs.
func preambleOf(r *http.Request) preamble {
	return preamble{
		host:          []byte(r.Host),
		authorization: []byte(r.Header.Get("Authorization")),
		origin:        []byte(r.Header.Get("Origin")),
		forwarded:     []byte(strings.Join(r.Header.Values("X-Forwarded-For"), ",")),
		length:        r.ContentLength,
		chunked:       len(r.TransferEncoding) > 0,
		upgrade:       r.Header.Get("Upgrade") != "",
	}
}

// serveFallback admits a request and passes it to the fallback.
func (s *Server) serveFallback(w http.ResponseWriter, r *http.Request) {
	h := preambleOf(r)
	if h.chunked || h.upgrade {
		w.Header().Set("Connection", "close") // see checkedConn; the answer to an upgrade overrides it
	}
	c := r.Context().Value(connKey{}).(*conn) // see newFallback
	if r.ContentLength == 0 {
		c.begin() // otherwise after the body
	}
	who, refused := s.admit(&h, &c.peer, s.now())
	ticket := new(Ticket)
	ticket.begin(s, who, c)
	c.stream.setClient(ticket.turn.Client)
	ticket.charged = 1
	defer ticket.Release()
	ctx := &request.Request{Context: r.Context(), Source: who.source, Quota: ticket}
	defer ctx.End()
	body := &countedBody{
		ReadCloser: r.Body,
		conn:       c,
		control:    http.NewResponseController(w),
		request:    ctx,
		ticket:     ticket,
		encoded:    r.Header.Get("Content-Encoding") != "",
		sent:       r.ContentLength != 0 && !h.upgrade && r.Header.Get("Expect") == "", // otherwise it may wait for an answer
	}
	if refused == nil {
		if most, extra := s.mostBody(r.ContentLength, body.encoded); !ticket.reserve(r.Context(), most, extra) {
			refused = &errBusy
		}
	}
	if r.ContentLength != 0 {
		body.begin = s.now()
		if body.setDeadline() != nil {
			panic(http.ErrAbortHandler) // the connection is gone
		}
	}
	ends := refused != nil && (refused.ends() || r.ContentLength > maxSkipped || h.chunked)
	// Without full duplex net/http would read part of the body before an early answer, and none after it. HTTP/1
	// supports it.
	if body.sent && (refused == nil || ends) && body.control.EnableFullDuplex() != nil {
		panic(http.ErrAbortHandler)
	}
	s.allow(w.Header(), who.origin)
	switch {
	case who.origin != "" && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" &&
		(refused == nil || refused.status == http.StatusUnauthorized): // preflight requests carry no credentials
		s.preflight(w.Header())
		w.WriteHeader(http.StatusNoContent)
		return
	case refused != nil:
		refused.counted()
		if ends {
			w.Header().Set("Connection", "close")
		}
		if refused.name != "" {
			w.Header().Set(refused.name, refused.value)
		}
		http.Error(w, refused.sentence, refused.status)
		if ends {
			body.skip()
		}
		return
	}
	total := s.config.Budget
	if h.upgrade {
		total = 0 // a WebSocket has no time limit; its messages do
	}
	ctx.Begin(s.now(), total)
	if r.ContentLength != 0 {
		ticket.await() // until the body has arrived
	}
	r = r.WithContext(ctx)
	r.Body = body
	if !h.upgrade { // WebSockets have a rule of their own for slow readers
		w = &steadyWriter{ResponseWriter: w, control: body.control, server: s, ticket: ticket, request: ctx}
	}
	s.config.Fallback.ServeHTTP(w, r)
	body.skip()
}

// exposed lists the headers that a page may read in addition to the safelisted ones.
const exposed = "Retry-After"

// allow lets a page of the origin read the answer (Fetch standard, CORS).
func (s *Server) allow(header http.Header, origin string) {
	if origin != "" {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", exposed)
	}
	if s.varies() {
		header.Add("Vary", "Origin")
	}
}

// preflight tells a browser which methods and headers a page may use.
func (s *Server) preflight(header http.Header) {
	header.Set("Access-Control-Allow-Methods", "POST, GET")
	header.Set("Access-Control-Allow-Headers", "Content-Type, Authorization")
	header.Set("Access-Control-Max-Age", "86400")
}

// maxSkipped is the largest body in bytes of a refused request that is read to keep the connection.
const maxSkipped = 64 << 10

const (
	// encodedCalls and encodedCallBytes are the least charge for decompressing a body: encodedCalls calls, or one for
	// every encodedCallBytes bytes, whichever is more. The decompressed content is charged once it is known.
	encodedCalls     = 100
	encodedCallBytes = 8
)

// mostBody returns the greatest size of a body after decompression, and the extra memory that decompression takes. A
// negative length is unknown.
func (s *Server) mostBody(length int64, encoded bool) (body, extra int64) {
	switch {
	case length == 0:
		return 0, 0
	case encoded:
		return int64(s.config.MaxRequestBytes), decompressing + max(length, 0)
	case length < 0:
		return int64(s.config.MaxRequestBytes), 0
	}
	return length, 0
}

// countedBody counts a body's bytes for its charge, and extends the read deadline as they arrive. At the end it clears
// the deadline, which would otherwise end the handler's context.
type countedBody struct {
	io.ReadCloser
	conn    *conn
	control *http.ResponseController
	request *request.Request
	ticket  *Ticket
	begin   time.Time     // start of reading; zero if there is no deadline
	allowed time.Duration // present time limit for the next bytes
	encoded bool
	sent    bool // the client may send all of it before it reads an answer
	ended   bool
	bytes   int
}

// skip reads and drops the rest of a body that was answered early.
func (b *countedBody) skip() {
	if b.sent && !b.ended && b.control.Flush() == nil {
		b.conn.skip(b.ReadCloser, b.control.SetReadDeadline)
	}
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += n
	if err == nil {
		return n, b.setDeadline()
	}
	b.ended = true
	b.ticket.Spend(b.bytes)
	if !b.ticket.resume() {
		err = errClosed
	}
	b.request.Begin(time.Now(), 0)
	b.conn.begin()
	if !b.begin.IsZero() {
		b.begin = time.Time{}
		if failed := b.control.SetReadDeadline(time.Time{}); failed != nil && err == io.EOF {
			err = failed
		}
	}
	if b.encoded {
		b.ticket.Charge(max(encodedCalls, b.bytes/encodedCallBytes))
	}
	return n, err
}

// setDeadline sets the deadline for more of the body.
func (b *countedBody) setDeadline() error {
	allowed := bodyTime(b.bytes)
	if b.begin.IsZero() || allowed == b.allowed {
		return nil
	}
	b.allowed = allowed
	return b.control.SetReadDeadline(b.begin.Add(allowed))
}
