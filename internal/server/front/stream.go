package front

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

const (
	// streamPiece is the number of bytes that a connection receives between two turns.
	streamPiece = 16 << 10
	// streamTurn bounds a turn, whatever its connection waits for.
	streamTurn = 5 * time.Millisecond
)

// stream is a connection beneath TLS. The node decrypts and copies a client's bytes, and searches them for the end of a
// message, before it can admit the message. Clients take turns at that work. A connection takes a turn
// when its first bytes arrive and after each piece, and ends it when it reads or writes again. However many connections
// have received something, only a few are then ready to run, and short work does not wait behind all of them.
type stream struct {
	net.Conn

	lane     *admission.Lane
	ctx      context.Context // of the server
	turn     admission.Turn
	received int // bytes since the last turn

	mu     sync.Mutex // guards the fields below
	client admission.Client
	holds  bool      // the turn has begun
	until  time.Time // latest end of the turn
	late   *time.Timer
	armed  bool // late is going to call expire
}

// newStream returns a stream whose client is the peer until setClient.
func newStream(raw net.Conn, of *Server, from peer) *stream {
	return &stream{
		Conn: raw, lane: of.config.Admission.Arrivals(), ctx: of.context, received: streamPiece,
		client: admission.Client{Place: from.place},
	}
}

// setClient names the client whose turns the connection takes.
func (s *stream) setClient(c admission.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = c
}

// Read implements net.Conn. One goroutine reads at a time.
func (s *stream) Read(p []byte) (int, error) {
	s.leave()
	n, err := s.Conn.Read(p[:min(len(p), streamPiece)])
	if s.received += n; s.received >= streamPiece && n > 0 {
		s.received = 0
		s.enter()
	}
	return n, err
}

// Write implements net.Conn.
func (s *stream) Write(p []byte) (int, error) {
	s.leave()
	return s.Conn.Write(p)
}

// Close implements net.Conn.
func (s *stream) Close() error {
	s.leave()
	return s.Conn.Close()
}

// enter waits for a turn unless the connection has one. Without one it returns when the server ends. Only the reading
// goroutine may call it.
func (s *stream) enter() {
	s.mu.Lock()
	has := s.holds
	s.turn.Client = s.client
	s.mu.Unlock()
	if has || s.lane.Enter(turned{s.ctx, &s.turn}) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds, s.until = true, time.Now().Add(streamTurn)
	if s.armed { // by a turn that has ended: starting and stopping the timer in each turn would cost more than the turn
		return
	}
	s.armed = true
	if s.late == nil {
		s.late = time.AfterFunc(streamTurn, s.expire)
	} else {
		s.late.Reset(streamTurn)
	}
}

// expire ends a turn that has lasted too long.
func (s *stream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := time.Until(s.until)
	if s.armed = s.holds && left > 0; s.armed {
		s.late.Reset(left)
		return
	}
	s.end()
}

// leave ends the turn, if it has not ended.
func (s *stream) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// end is leave with the lock held.
func (s *stream) end() {
	if s.holds {
		s.holds = false
		s.lane.Leave(turned{s.ctx, &s.turn})
	}
}

// NetConn returns the underlying connection, for callers that set its options.
func (s *stream) NetConn() net.Conn { return s.Conn }

// CloseWrite signals to the client that nothing follows.
func (s *stream) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
