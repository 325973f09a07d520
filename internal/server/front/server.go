package front

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/reload"
)

// Stats holds counts since the start, except Open and Memory, which are current values.
type Stats struct {
	Open      int    // open connections
	Memory    int64  // bytes held by bodies and answers, out of Config.MaxMemory
	Requests  uint64 // requests admitted and answered by this package's loop
	Handed    uint64 // connections handed over to net/http
	Displaced uint64 // connections closed to make way for new ones, or for requests that need their memory

	// Refusals by cause.
	RateLimited, Unauthorized, TooLarge, TooManyConnections, Timeouts, ForbiddenHost, ForbiddenOrigin, Malformed, Draining,
	Busy uint64
}

type counts struct {
	requests, handed, displaced, rateLimited, unauthorized, tooLarge, tooManyConnections, timeouts, forbiddenHost,
	forbiddenOrigin,
	malformed, draining, busy atomic.Uint64
}

// Server is the public HTTP server.
type Server struct {
	gate
	connections
	config      Config
	now         func() time.Time
	certificate *reload.Files[tls.Certificate]
	tls         *tls.Config
	fallback    *http.Server
	handed      handedListener
	counts      counts
	memory      *memory

	context context.Context // parent of all requests' contexts
	cancel  context.CancelFunc
}

// New returns a server. It reads the files that config names.
func New(config Config) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, now: time.Now, memory: newMemory(config.MaxMemory)}
	s.connections.begin(config)
	if s.gate, err = newGate(config, &s.counts); err != nil {
		return nil, err
	}
	if config.CertificateFile != "" {
		if s.certificate, err = watchCertificate(config); err != nil {
			return nil, err
		}
		s.tls = tlsConfig(s.certificate)
	}
	s.context, s.cancel = context.WithCancel(context.Background())
	s.handed = handedListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	s.fallback = s.newFallback()
	return s, nil
}

// TLS reports whether the server speaks TLS.
func (s *Server) TLS() bool { return s.tls != nil }

// Stats returns the counts. It is cheap enough to call every second.
func (s *Server) Stats() Stats {
	c := &s.counts
	return Stats{
		Open:               s.open(),
		Memory:             s.memory.used.Load(),
		Requests:           c.requests.Load(),
		Handed:             c.handed.Load(),
		Displaced:          c.displaced.Load(),
		RateLimited:        c.rateLimited.Load(),
		Unauthorized:       c.unauthorized.Load(),
		TooLarge:           c.tooLarge.Load(),
		TooManyConnections: c.tooManyConnections.Load(),
		Timeouts:           c.timeouts.Load(),
		ForbiddenHost:      c.forbiddenHost.Load(),
		ForbiddenOrigin:    c.forbiddenOrigin.Load(),
		Malformed:          c.malformed.Load(),
		Draining:           c.draining.Load(),
		Busy:               c.busy.Load(),
	}
}

// Serve accepts connections until Shutdown, and then returns nil, or until the listener fails. It must be called once.
// Called after Shutdown, it closes the listener and returns nil: a process may receive its signal to stop while it
// starts.
func (s *Server) Serve(listener net.Listener) error {
	s.setHosts(listener.Addr())
	if late := s.listen(listener); late {
		return listener.Close()
	}
	failed := make(chan error, 1)
	go func() { failed <- s.fallback.Serve(&s.handed) }()
	defer func() { <-failed }() // returns once Shutdown has closed the listener of handed-over connections
	for {
		netConn, err := listener.Accept()
		if err != nil {
			if s.draining.Load() {
				return nil
			}
			_ = s.handed.Close() // never fails
			return err
		}
		if c := s.accept(netConn); c != nil {
			go s.serve(c)
		}
	}
}

var fullAnswer = []byte("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: " +
	drainSeconds + "\r\n\r\n")

// accept registers a connection. It refuses the connection and returns nil if the server drains, or if there are too
// many connections and none has been idle long enough to make way.
func (s *Server) accept(netConn net.Conn) *conn {
	c := &conn{raw: netConn, server: s, peer: s.peerOf(netConn.RemoteAddr().String())}
	c.stream = newStream(netConn, s, c.peer)
	c.Conn = c.stream
	displaced, ok := s.register(c, s.now())
	if displaced != nil {
		s.counts.displaced.Add(1)
		_ = displaced.raw.Close() // its loop notices and ends the connection
	}
	if ok {
		return c
	}
	if s.draining.Load() {
		s.counts.draining.Add(1)
	} else {
		s.counts.tooManyConnections.Add(1)
	}
	if s.tls == nil {
		// A new connection's send buffer is empty, so this does not block. Whether the answer arrives does not matter.
		_ = netConn.SetWriteDeadline(s.now().Add(time.Second))
		_, _ = netConn.Write(fullAnswer)
	}
	_ = netConn.Close() // it was refused
	return nil
}

// serve runs a connection until it ends or is handed over.
func (s *Server) serve(c *conn) {
	defer s.running.Done()
	defer func() {
		if value := recover(); value != nil {
			s.config.Log.Error("panic while serving a connection", "panic", value, "stack", string(debug.Stack()))
			_ = c.Close() // no answer can be written any more
		}
	}()
	if s.tls != nil && !c.startTLS() {
		_ = c.Close() // no request can be read
		return
	}
	if c.loop() {
		s.counts.handed.Add(1)
		s.handed.hand(c)
		return
	}
	_ = c.Close() // all answers are written
}

// Drain makes the server refuse all further requests with 503 and Retry-After.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown refuses new connections and requests, closes idle connections at once, and waits for running requests. When
// ctx ends it closes the remaining connections and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	defer s.cancel()
	for _, c := range s.end() {
		_ = c.raw.Close() // its loop notices and ends the connection
	}
	ended := make(chan struct{})
	go func() { s.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	_ = s.handed.Close() // never fails
	err := s.fallback.Shutdown(ctx)
	if err == nil && ctx.Err() == nil {
		return nil
	}
	s.cancel()
	for _, c := range s.left() {
		_ = c.raw.Close() // its time is up
	}
	<-ended
	_ = s.fallback.Close() // its time is up too
	return errors.Join(ctx.Err(), err)
}
