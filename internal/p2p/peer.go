package p2p

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"crypto/tls"

	"go.etcd.io/raft/v3/raftpb"
)

// peer is another member, with this member's connections to it.
type peer struct {
	known
	link   *Link
	ctx    context.Context
	end    context.CancelFunc
	out    [calls]outbox // for order and pulse
	caller caller

	// The link's lock guards the fields below.
	hello    Hello                   // the last one received
	report   Report                  // the last health check's
	reported time.Time               // estimated local time at which the report was made
	silent   bool                    // the last health check timed out
	faults   [channels]error         // why a connection is down, or nil
	inward   [channels]net.Conn      // connections that the peer dialed
	again    [channels]chan struct{} // skips the backoff before the next dial
}

// offset returns the member's wall clock minus this one's. The member's clock is advanced by the monotonic time since
// the report, as this member's wall clock may have been set in between.
func (p *peer) offset() time.Duration {
	if p.report.Wall == 0 {
		return 0
	}
	now := time.Now()
	wall := time.UnixMilli(int64(min(p.report.Wall, math.MaxInt64))).Add(now.Sub(p.reported))
	return wall.Sub(now)
}

// setBack returns how far this member's wall clock was set back between two readings; negative if it was set forward.
func setBack(since, now time.Time) time.Duration {
	return since.Round(0).Add(now.Sub(since)).Sub(now.Round(0))
}

// newPeer starts the goroutines that connect to a member.
func (l *Link) newPeer(m Peer) *peer {
	p := &peer{known: known{Peer: m}, link: l}
	p.ctx, p.end = context.WithCancel(l.ctx)
	for c := range channels {
		p.faults[c], p.again[c] = errNotYet, make(chan struct{}, 1)
		if c < calls {
			p.out[c].ready = make(chan struct{}, 1)
		}
		l.running.Go(func() { p.keep(c) })
	}
	l.running.Go(p.ask)
	return p
}

// askPause is the interval between health checks, and askTime the time limit of one.
const (
	askPause = 500 * time.Millisecond
	askTime  = 2 * time.Second
)

// errSilent is the fault of a member that does not answer although its connections are up: it or the network hangs.
var errSilent = errors.New("it does not answer")

// ask runs health checks until the member is removed. It assumes that a call and its answer take equally long.
func (p *peer) ask() {
	ticker := time.NewTicker(askPause)
	defer ticker.Stop()
	for {
		ctx, cancel := context.WithTimeout(p.ctx, askTime)
		asked := time.Now()
		report, err := p.link.Report(ctx, p.ID())
		cancel()
		middle := asked.Add(time.Since(asked) / 2)
		p.link.mu.Lock()
		p.report, p.reported, p.silent = report, middle, errors.Is(err, context.DeadlineExceeded)
		p.link.mu.Unlock()
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return
		}
	}
}

// keep dials a connection, uses it, and redials with backoff until the member is removed.
func (p *peer) keep(c channel) {
	for wait := firstPause; p.ctx.Err() == nil; wait = min(2*wait, longestWait) {
		conn, err := p.dial(c)
		if err == nil {
			wait = firstPause
			p.begin(c, conn)
			p.fault(c, nil)
			err = p.use(c, conn)
			if c != calls {
				p.link.config.Handler.Unreachable(p.ID())
			}
		}
		if p.ctx.Err() != nil {
			return
		}
		p.fault(c, err)
		timer := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-timer.C:
		case <-p.again[c]:
		case <-p.ctx.Done():
		}
		timer.Stop()
	}
}

// fault records why a connection is down, nil if it is up. It reports permanent refusals to the handler, except
// CausePin: another key at the peer's address does not concern this member.
func (p *peer) fault(c channel, err error) {
	p.link.mu.Lock()
	p.faults[c] = err
	p.link.mu.Unlock()
	p.link.config.Log.Debug("a connection to a member failed", "member", p.Name, "connection", protocols[c], "error", err)
	if r, ok := errors.AsType[*Refusal](err); ok && r.Told && r.Cause.Final() && r.Cause != CausePin {
		p.link.config.Handler.Refused(p.Peer, r)
	}
}

// dial connects to the peer, exchanges Hellos, and judges the peer's.
func (p *peer) dial(c channel) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, helloTime)
	defer cancel()
	promised := p.link.promises()
	conn, h, err := dial(ctx, p.link.config.Identity, p.Peer, c, p.link.hello)
	if err != nil {
		return nil, err
	}
	if err := p.link.meet(h, p.Pin, promised); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// dial connects to a member, sends the Hello that own returns once the connection is up, and returns the member's
// Hello.
func dial(ctx context.Context, self Identity, to Peer, c channel, own func() Hello) (_ net.Conn, h Hello, err error) {
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	raw, err := dialer.DialContext(ctx, "tcp", to.Address)
	if err != nil {
		return nil, h, err
	}
	// If this fails, a dead connection only lasts longer.
	_ = boundSilence(raw, deadTime)
	conn := tls.Client(raw, self.config(&to.Pin, protocols[c]))
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // interrupts reads and writes
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = conn.Close() // the first error is reported
		}
	}()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, h, err
	}
	sent := own()
	if _, err := conn.Write(appendFrame(nil, frameHello, sent.encode())); err != nil {
		return nil, h, err
	}
	k, body, err := readFrame(conn, maxHello)
	switch {
	case err != nil:
		return nil, h, err
	case k == frameRefused:
		refusal, err := decodeRefusal(body, sent)
		return nil, h, errors.Join(refusal, err)
	case k != frameHello:
		return nil, h, fmt.Errorf("%w: kind %d instead of a Hello", ErrFrame, k)
	}
	if h, err = decodeHello(body); err == nil && h.Member != to.ID() {
		err = fmt.Errorf("%w: the Hello of member %x", ErrFrame, h.Member)
	}
	return conn, h, err
}

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 3}

// begin makes a connection accept messages or calls. It must be called before the connection is reported as up.
func (p *peer) begin(c channel, conn net.Conn) {
	if c == calls {
		p.caller.begin(conn)
		return
	}
	p.out[c].open()
}

// use serves a connection that has begun until it breaks.
func (p *peer) use(c channel, conn net.Conn) error {
	stop := context.AfterFunc(p.ctx, func() { _ = conn.Close() }) // interrupts reads and writes
	defer stop()
	if c == calls {
		return p.caller.use(conn)
	}
	// The peer sends nothing on it: a read returns only when the connection ends.
	ended := make(chan error, 1)
	p.link.running.Go(func() {
		_, err := conn.Read(make([]byte, 1))
		if err == nil {
			err = ErrFrame
		}
		_ = conn.Close() // unblocks the writer
		ended <- err
	})
	box := &p.out[c]
	err := write(box, conn, ended)
	box.close()
	return errors.Join(err, conn.Close())
}

// write writes the outbox's messages to a connection until it fails or ended reports its end.
func write(box *outbox, conn net.Conn, ended <-chan error) error {
	w := bufio.NewWriterSize(conn, 64<<10)
	var frame []byte
	for {
		select {
		case <-box.ready:
		case err := <-ended:
			return err
		}
		for _, m := range box.take() {
			var err error
			if frame, err = appendMessage(frame[:0], m); err != nil {
				return err
			}
			if err := conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
				return err
			}
			if _, err := w.Write(frame); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}

// Bounds of an outbox: messages, and bytes of their entries. Raft has fewer bytes in flight to a member.
const (
	maxQueued      = 4096
	maxQueuedBytes = 72 << 20
)

// outbox is a queue of messages to be written.
type outbox struct {
	mu    sync.Mutex
	up    bool
	queue []*raftpb.Message
	bytes int
	ready chan struct{} // holds a value if the queue is not empty
}

// put appends a message. It reports false if there is no connection or no room.
func (b *outbox) put(m *raftpb.Message) bool {
	size := 0
	for _, e := range m.GetEntries() {
		size += len(e.GetData())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.up || len(b.queue) >= maxQueued || b.bytes > 0 && b.bytes+size > maxQueuedBytes {
		return false
	}
	b.queue, b.bytes = append(b.queue, m), b.bytes+size
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return true
}

// take empties the queue, and returns its messages.
func (b *outbox) take() []*raftpb.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queue
	b.queue, b.bytes = nil, 0
	return queue
}

func (b *outbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.up = true
}

func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.up, b.queue, b.bytes = false, nil, 0
}
