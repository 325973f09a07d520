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

// handedListener hands connections to net/http as if they had just come in.
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

// poison is no part of any request that net/http would accept: NUL is allowed neither in a request line nor in a field.
var poison = []byte("\x00\r\n\x00\r\n\r\n")

// checkedConn is a connection that was handed over. It holds every preamble that net/http reads from it to the rules of
// parsePreamble, by following where each begins. A bad one is poisoned before its end, so that net/http answers 400.
type checkedConn struct {
	*conn
	ahead []byte // was read before the connection was handed over

	preamble []byte // what has come of a preamble; empty within a body
	body     int64  // bytes of the body that are still to come
	raw      bool   // what follows cannot be told apart: net/http is told to end the connection after this request
	late     int    // bytes that were read since the connection is closing
	poisoned []byte // to be read instead of what the client sent; nil where all is well
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

// check follows the requests in b and returns how much of it may be read. That is all, or what comes before the last
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

// badAt is where in the collected preamble the poison goes: before the last line feed that belongs to it, so that
// net/http has not seen the preamble's end yet.
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

// newFallback is the net/http server of what is handed over.
func (s *Server) newFallback() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(s.serveFallback),
		ReadHeaderTimeout: preambleTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxPreambleBytes,
		ErrorLog:          logs.Of(s.config.Log, "a connection came to nothing"),
		BaseContext:       func(net.Listener) context.Context { return s.context },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c.(*checkedConn).conn)
		},
		// What is hijacked, such as a WebSocket, stays active. If the server has closed one meanwhile, answering fails.
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateIdle:
				c.(*checkedConn).park(stateIdle)
			case http.StateActive: // the first byte of a request
				c.(*checkedConn).park(stateReading)
			}
		},
	}
}

type connKey struct{}

// preambleOf is what admit must know of a request that net/http read.
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

// serveFallback is what every request passes on its way to the fallback.
func (s *Server) serveFallback(w http.ResponseWriter, r *http.Request) {
	h := preambleOf(r)
	if h.chunked || h.upgrade {
		w.Header().Set("Connection", "close") // see checkedConn; an answer that upgrades says otherwise
	}
	c := r.Context().Value(connKey{}).(*conn) // see newFallback
	if r.ContentLength == 0 {
		c.begin() // or else when the body has come
	}
	who, refused := s.admit(&h, &c.peer, s.now())
	ticket := new(Ticket)
	ticket.begin(s, who, c)
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
		sent:       r.ContentLength != 0 && !h.upgrade && r.Header.Get("Expect") == "", // or nothing is, before 100
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
	// Or net/http would read some of the body before an early answer, and no more of it. HTTP/1 has it.
	if body.sent && (refused == nil || ends) && body.control.EnableFullDuplex() != nil {
		panic(http.ErrAbortHandler)
	}
	s.allow(w.Header(), who.origin)
	switch {
	case who.origin != "" && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" &&
		(refused == nil || refused.status == http.StatusUnauthorized): // browsers ask without credentials
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
		total = 0 // what it becomes has no end; its messages have
	}
	ctx.Begin(s.now(), total)
	if r.ContentLength != 0 {
		ticket.await() // until the body has come
	}
	r = r.WithContext(ctx)
	r.Body = body
	if !h.upgrade { // what that becomes has a rule of its own for slow readers
		w = &steadyWriter{ResponseWriter: w, control: body.control, server: s, ticket: ticket}
	}
	s.config.Fallback.ServeHTTP(w, r)
	body.skip()
}

// exposed are the headers that a page may read beside those that it always may: when to come again.
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

// preflight tells a browser what a page may send.
func (s *Server) preflight(header http.Header) {
	header.Set("Access-Control-Allow-Methods", "POST, GET")
	header.Set("Access-Control-Allow-Headers", "Content-Type, Authorization")
	header.Set("Access-Control-Max-Age", "86400")
}

// maxSkipped is the size in bytes of a refused request's body that net/http reads for the sake of the connection.
const maxSkipped = 64 << 10

const (
	// encodedCalls and encodedCallBytes are what a compressed body costs at least, for the work of decompressing it: so
	// many calls, or one for so many bytes, whichever is more. What is in it is charged when that is known.
	encodedCalls     = 100
	encodedCallBytes = 8
)

// mostBody is how large a body may become once it is decompressed, where its length is negative if that is not known,
// and what decompressing it takes.
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

// countedBody counts what a body costs as it is read, and moves the deadline of reading as it comes. At its end it
// lifts the deadline: the same one would end the handler's context.
type countedBody struct {
	io.ReadCloser
	conn    *conn
	control *http.ResponseController
	request *request.Request
	ticket  *Ticket
	begin   time.Time     // of reading; zero where there is no deadline
	allowed time.Duration // for what is to come next
	encoded bool
	sent    bool // by a client that may not read before it is
	ended   bool
	bytes   int
}

// skip reads what the client still sends of a body that was answered early.
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

// setDeadline sets when more of the body must have come.
func (b *countedBody) setDeadline() error {
	allowed := bodyTime(b.bytes)
	if b.begin.IsZero() || allowed == b.allowed {
		return nil
	}
	b.allowed = allowed
	return b.control.SetReadDeadline(b.begin.Add(allowed))
}
