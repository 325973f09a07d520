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

// peer is another member, and the connections that this one dials to it.
type peer struct {
	known
	link   *Link
	ctx    context.Context
	end    context.CancelFunc
	out    [calls]outbox // order and pulse
	caller caller
	said   said                    // under the link's lock, as the rest
	faults [channels]error         // why a connection is not up
	inward [channels]net.Conn      // what the peer dialed
	again  [channels]chan struct{} // hurries the next attempt
}

// said is what a member has said of itself last.
type said struct {
	hello  Hello
	report Report
	told   time.Time // when it said its report, by this member's clocks
	silent bool      // the last question how it is had no answer in time
}

// offset is how far the member's wall clock is ahead of this one's. That may have been set since the report: the
// monotonic clock says how long ago it was.
func (s said) offset() time.Duration {
	if s.report.Wall == 0 {
		return 0
	}
	now := time.Now()
	wall := time.UnixMilli(int64(min(s.report.Wall, math.MaxInt64))).Add(now.Sub(s.told))
	return wall.Sub(now)
}

// setBack is how far this member's clock has been set back since a moment by both its clocks; forward is less than 0.
func setBack(since, now time.Time) time.Duration {
	return since.Round(0).Add(now.Sub(since)).Sub(now.Round(0))
}

// newPeer begins to reach a member.
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

// askPause is the time between two questions how a member is, and askTime how long it has to answer.
const (
	askPause = 250 * time.Millisecond
	askTime  = 2 * time.Second
)

// errSilent is the fault of a member whose connections are up and that does not answer: it hangs, or the way does.
var errSilent = errors.New("it does not answer")

// ask asks the member how it is until it is removed. The time on the way is taken to be the same there and back.
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
		p.said.report, p.said.told, p.said.silent = report, middle, errors.Is(err, context.DeadlineExceeded)
		p.link.mu.Unlock()
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return
		}
	}
}

// keep keeps a connection up.
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

// fault notes why a connection is down, nil if it is up, and tells the handler of a refusal that time does not mend.
// Another key at the address says nothing of this member.
func (p *peer) fault(c channel, err error) {
	p.link.mu.Lock()
	p.faults[c] = err
	p.link.mu.Unlock()
	p.link.config.Log.Debug("a connection to a member", "member", p.Name, "connection", protocols[c], "error", err)
	if r := new(Refusal); errors.As(err, &r) && r.Told && r.Cause.Final() && r.Cause != CausePin {
		p.link.config.Handler.Refused(p.Peer, r)
	}
}

// dial connects, and exchanges Hellos.
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

// dial connects to a member, says a Hello, which is made once the connection is up, and returns the other's.
func dial(ctx context.Context, self Identity, to Peer, c channel, own func() Hello) (_ net.Conn, h Hello, err error) {
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	raw, err := dialer.DialContext(ctx, "tcp", to.Address)
	if err != nil {
		return nil, h, err
	}
	// What cannot be set only makes a dead connection last longer.
	_ = boundSilence(raw, deadTime)
	conn := tls.Client(raw, self.config(&to.Pin, protocols[c]))
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // ends what reads or writes
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = conn.Close() // the first error says more
		}
	}()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, h, err
	}
	said := own()
	if _, err := conn.Write(appendFrame(nil, frameHello, said.encode())); err != nil {
		return nil, h, err
	}
	k, body, err := readFrame(conn, maxHello)
	switch {
	case err != nil:
		return nil, h, err
	case k == frameRefused:
		refusal, err := decodeRefusal(body, said)
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

// begin has a connection take what is sent from now on, before anyone is told that it is up.
func (p *peer) begin(c channel, conn net.Conn) {
	if c == calls {
		p.caller.begin(conn)
		return
	}
	p.out[c].open()
}

// use uses a connection that has begun until it breaks.
func (p *peer) use(c channel, conn net.Conn) error {
	stop := context.AfterFunc(p.ctx, func() { _ = conn.Close() }) // ends what reads or writes
	defer stop()
	if c == calls {
		return p.caller.use(conn)
	}
	// Nothing comes on it except its end.
	ended := make(chan error, 1)
	p.link.running.Go(func() {
		_, err := conn.Read(make([]byte, 1))
		if err == nil {
			err = ErrFrame
		}
		_ = conn.Close() // the writer may wait on it
		ended <- err
	})
	box := &p.out[c]
	err := write(box, conn, ended)
	box.close()
	return errors.Join(err, conn.Close())
}

// write writes what is put into a box.
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

// Bounds of what waits for a connection: messages, and bytes of the entries in them. Raft itself has no more than so
// many bytes on the way to a member.
const (
	maxQueued      = 4096
	maxQueuedBytes = 72 << 20
)

// outbox is what waits to be written.
type outbox struct {
	mu    sync.Mutex
	up    bool
	queue []*raftpb.Message
	bytes int
	ready chan struct{} // has a value if there is something
}

// put adds a message; false: there is no connection, or no room.
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

// take takes all that waits.
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
