package p2p

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Serve accepts connections until the link is closed, and then closes the listener.
func (l *Link) Serve(listener net.Listener) error {
	stop := context.AfterFunc(l.ctx, func() { _ = listener.Close() }) // interrupts Accept
	defer func() {
		// If Accept returned first because a connection came during the close, the listener is still open.
		if stop() {
			_ = listener.Close()
		}
	}()
	for {
		conn, err := listener.Accept()
		switch {
		case l.ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case err != nil:
			return err
		}
		l.welcome(conn)
	}
}

// welcome starts to serve a connection. If too many have not sent a Hello, it closes one of them.
func (l *Link) welcome(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strangers) >= maxStrangers {
		i := crowded(l.strangers)
		_ = l.strangers[i].Close() // its serve goroutine then ends
		l.strangers = slices.Delete(l.strangers, i, i+1)
	}
	l.strangers = append(l.strangers, conn)
	l.running.Go(func() {
		if err := l.serve(conn); err != nil && l.ctx.Err() == nil {
			l.config.Log.Debug("a connection from a member ended", "address", conn.RemoteAddr(), "error", err)
		}
	})
}

// crowded returns the index of the oldest connection of the host that has the most: a member that connects must not
// make way for a host that floods the port.
func crowded(strangers []net.Conn) (oldest int) {
	counts := make(map[string]int)
	for _, conn := range strangers {
		counts[hostOf(conn)]++
	}
	for i, conn := range strangers {
		if counts[hostOf(conn)] > counts[hostOf(strangers[oldest])] {
			oldest = i
		}
	}
	return oldest
}

func hostOf(conn net.Conn) string {
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()) // empty for a transport without ports
	return host
}

// handshake is a connection below TLS. Until the handshake ends, whatever follows a read has the turn of its host: one
// handshake computes at a time, and none while it waits for the other end.
type handshake struct {
	net.Conn
	link  *Link
	until time.Time // the connection's deadline
	ended bool
	give  func() // gives the turn back; nil without one
}

// Read implements net.Conn.
func (h *handshake) Read(b []byte) (n int, err error) {
	h.pause()
	if n, err = h.Conn.Read(b); err != nil || h.ended {
		return n, err
	}
	if h.give, err = h.link.handshakes.Acquire(h.link.ctx, hostOf(h.Conn)); err == nil {
		err = h.Conn.SetDeadline(h.until) // fails if the connection was displaced meanwhile
	}
	return n, err
}

func (h *handshake) pause() {
	if h.give != nil {
		h.give()
		h.give = nil
	}
}

func (h *handshake) end() {
	h.pause()
	h.ended = true
}

// serve serves an incoming connection until it ends.
func (l *Link) serve(raw net.Conn) error {
	stop := context.AfterFunc(l.ctx, func() { _ = raw.Close() }) // interrupts reads and writes
	defer stop()
	shaking := &handshake{Conn: raw, link: l}
	conn := tls.Server(shaking, l.config.Identity.config(nil, protocols[:]...))
	defer func() { _ = conn.Close() }() // the connection is of no use any more
	p, c, err := l.greet(raw, shaking, conn)
	if err != nil {
		return err
	}
	defer l.leave(p, c, raw)
	reader := bufio.NewReaderSize(conn, 64<<10)
	if c == calls {
		return l.answer(p, conn, reader)
	}
	var body []byte // reused: no message aliases it
	for {
		var k kind
		if k, body, err = readFrameTo(body, reader, MaxFrame); err != nil {
			return err
		}
		m, err := decodeMessage(k, body, c, p.ID(), l.self)
		if err != nil {
			return err
		}
		l.observe(m)
		l.config.Handler.Deliver(m)
	}
}

// greet completes the handshake and exchanges Hellos. It returns the peer and the channel.
func (l *Link) greet(raw net.Conn, shaking *handshake, conn *tls.Conn) (p *peer, c channel, err error) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.strangers, raw); i >= 0 {
			l.strangers = slices.Delete(l.strangers, i, i+1)
		}
	}()
	shaking.until = time.Now().Add(helloTime)
	if err := conn.SetDeadline(shaking.until); err != nil {
		return nil, 0, err
	}
	promised := l.promises()
	err = conn.HandshakeContext(l.ctx)
	shaking.end()
	if err != nil {
		return nil, 0, err
	}
	state := conn.ConnectionState()
	c = channel(slices.Index(protocols[:], state.NegotiatedProtocol))
	k, body, err := readFrame(conn, maxHello)
	if err != nil {
		return nil, 0, err
	}
	if k != frameHello {
		return nil, 0, fmt.Errorf("%w: kind %d instead of a Hello", ErrFrame, k)
	}
	h, err := decodeHello(body)
	if err != nil {
		return nil, 0, err
	}
	if err = l.meet(h, pinOf(state.PeerCertificates[0]), promised); err == nil && h.Cluster == [16]byte{} && c != calls {
		err = &Refusal{Cause: CauseCluster} // a member that does not know its cluster may only make calls
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		_, sent := conn.Write(appendFrame(nil, frameRefused, refusal.encode()))
		l.logRefusal(h.Member, refusal, raw.RemoteAddr())
		return nil, 0, errors.Join(err, sent)
	}
	if _, err := conn.Write(appendFrame(nil, frameHello, l.hello().encode())); err != nil {
		return nil, 0, err
	}
	if p = l.enter(h.Member, c, raw); p == nil {
		return nil, 0, &Refusal{Cause: CauseRemoved}
	}
	return p, c, conn.SetDeadline(time.Time{})
}

// enter registers an incoming connection, and closes the earlier one of the same peer and channel. It also triggers
// immediate dials to the peer, as it is up now.
func (l *Link) enter(member uint64, c channel, conn net.Conn) *peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[member]
	if p == nil {
		return nil
	}
	if before := p.inward[c]; before != nil {
		_ = before.Close() // its serve goroutine then ends
	}
	p.inward[c] = conn
	for _, again := range p.again {
		select {
		case again <- struct{}{}:
		default:
		}
	}
	context.AfterFunc(p.ctx, func() { _ = conn.Close() }) // once the member is removed
	return p
}

// leave unregisters an incoming connection.
func (l *Link) leave(p *peer, c channel, conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.inward[c] == conn {
		p.inward[c] = nil
	}
}

// decodeMessage decodes a raft message. It must be from the connection's peer, to this member, and of the connection's
// channel.
func decodeMessage(k kind, body []byte, c channel, from, to uint64) (*raftpb.Message, error) {
	if k != frameMessage {
		return nil, fmt.Errorf("%w: kind %d instead of a message", ErrFrame, k)
	}
	m := new(raftpb.Message)
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if !slices.Contains(remote, m.GetType()) || channelOf(m) != c || m.GetFrom() != from || m.GetTo() != to {
		return nil, fmt.Errorf("%w: a %v from %x to %x", ErrFrame, m.GetType(), m.GetFrom(), m.GetTo())
	}
	return m, nil
}
