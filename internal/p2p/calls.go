package p2p

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/types"
)

// ErrAway is returned by a call to a member that cannot be reached or does not answer. The member may still have
// received the call.
var ErrAway = errors.New("the member is unreachable")

// FailedError is the error of a call that the other member could not carry out.
type FailedError struct{ Reason string }

func (e *FailedError) Error() string { return "the member answers: " + e.Reason }

// caller sends calls to a member over one connection.
type caller struct {
	mu      sync.Mutex
	conn    net.Conn // nil while disconnected
	broken  chan struct{}
	writing chan struct{} // holds a value while a goroutine writes to conn
	next    uint64
	waiting map[uint64]pendingCall
}

// pendingCall is a pending call. Its answer is awaited until ctx ends.
type pendingCall struct {
	ctx    context.Context
	answer chan answered
}

type answered struct {
	kind kind
	body []byte
}

// begin starts to use a connection.
func (c *caller) begin(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.broken, c.writing = conn, make(chan struct{}), make(chan struct{}, 1)
	c.waiting = make(map[uint64]pendingCall)
}

// use reads answers until the connection breaks. The calls that are still pending then fail.
func (c *caller) use(conn net.Conn) error {
	err := c.read(conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.broken)
	c.conn, c.waiting = nil, nil
	return errors.Join(err, conn.Close())
}

func (c *caller) read(conn net.Conn) error {
	reader := bufio.NewReaderSize(conn, 64<<10)
	for {
		k, body, err := readFrame(reader, MaxFrame)
		if err != nil {
			return err
		}
		number, body, err := cutNumber(body)
		if err != nil {
			return err
		}
		c.mu.Lock()
		q, waits := c.waiting[number]
		c.mu.Unlock()
		if waits { // otherwise the caller has given up
			select {
			case q.answer <- answered{k, body}:
			case <-q.ctx.Done():
			}
		}
	}
}

// cutNumber splits the call number from a body.
func cutNumber(body []byte) (uint64, []byte, error) {
	d := codec.NewDecoder(body)
	number := d.U64()
	if err := d.Err(); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return number, body[8:], nil
}

// call sends a call, and returns its single answer, which must be of kind want.
func (c *caller) call(ctx context.Context, k, want kind, body []byte) (answer []byte, err error) {
	err = c.stream(ctx, k, want, body, func(b []byte) (more bool, err error) {
		answer = b
		return false, nil
	})
	return answer, err
}

// stream sends a call, and passes answers of kind want to take until it reports that no more follow.
func (c *caller) stream(ctx context.Context, k, want kind, body []byte,
	take func([]byte) (more bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := pendingCall{ctx, make(chan answered)}
	c.mu.Lock()
	if c.conn == nil {
		c.mu.Unlock()
		return ErrAway
	}
	c.next++
	conn, number, broken, writing := c.conn, c.next, c.broken, c.writing
	c.waiting[number] = q
	c.mu.Unlock()
	defer c.forget(number)
	select {
	case writing <- struct{}{}: // a hanging member blocks one writer for long; the others give up with their contexts
	case <-broken:
		return ErrAway
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrAway, ctx.Err())
	}
	err := writeCall(conn, k, number, body)
	<-writing
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	for {
		select {
		case got := <-q.answer:
			more, err := got.take(want, take)
			if err != nil || !more {
				return err
			}
		case <-broken:
			return ErrAway
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrAway, ctx.Err())
		}
	}
}

func (c *caller) forget(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, number)
}

// take passes an answer of kind want to take. It returns a [FailedError] for a frameFailed.
func (a answered) take(want kind, take func([]byte) (bool, error)) (more bool, err error) {
	switch a.kind {
	case want:
		return take(a.body)
	case frameFailed:
		reason, err := decodeFailed(a.body)
		if err != nil {
			return false, err
		}
		return false, &FailedError{reason}
	}
	return false, fmt.Errorf("%w: the answer is of kind %d, not %d", ErrFrame, a.kind, want)
}

// writeCall writes a call or its answer. It closes the connection after an error, as nothing may follow a partial
// write.
func writeCall(conn net.Conn, k kind, number uint64, body []byte) error {
	frame := appendFrame(make([]byte, 0, frameHead+8+len(body)), k, encodeNumber(number), body)
	err := conn.SetWriteDeadline(time.Now().Add(writeTime))
	if err == nil {
		_, err = conn.Write(frame)
	}
	if err != nil {
		_ = conn.Close() // the first error is reported
	}
	return err
}

// callerOf returns the caller for a member.
func (l *Link) callerOf(member uint64) (*caller, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[member]; p != nil {
		return &p.caller, nil
	}
	return nil, fmt.Errorf("%w: unknown member %x", ErrAway, member)
}

func (l *Link) call(ctx context.Context, member uint64, k, want kind, body []byte) ([]byte, error) {
	c, err := l.callerOf(member)
	if err != nil {
		return nil, err
	}
	return c.call(ctx, k, want, body)
}

// Take forwards at most [MaxTake] transactions of at most [MaxTakeBytes] to a member.
func (l *Link) Take(ctx context.Context, member uint64, encoded [][]byte) (Taken, error) {
	body, err := l.call(ctx, member, frameTake, frameTaken, encodeTake(encoded))
	if err != nil {
		return Taken{}, err
	}
	t, err := decodeTaken(body)
	if err == nil && t.Refused == 0 && len(t.Results) != len(encoded) {
		err = fmt.Errorf("%w: %d results for %d transactions", ErrFrame, len(t.Results), len(encoded))
	}
	return t, err
}

// Blocks asks a member for released blocks. It returns the first of the range, and as many more as a frame holds.
func (l *Link) Blocks(ctx context.Context, member uint64, from, to types.Height) ([][]byte, error) {
	body, err := l.call(ctx, member, frameBlocks, frameBlocksOf, heights{from, to}.encode())
	if err != nil {
		return nil, err
	}
	return decodeBlocks(body)
}

// Pending asks a member for a snapshot of its pool.
func (l *Link) Pending(ctx context.Context, member uint64) (cluster.Pending, error) {
	var p pool
	c, err := l.callerOf(member)
	if err != nil {
		return cluster.Pending{}, err
	}
	size := 0
	err = c.stream(ctx, framePending, framePage, nil, func(page []byte) (bool, error) {
		if size += len(page); size > maxPending {
			return false, fmt.Errorf("%w: a pool of more than %d bytes", ErrFrame, maxPending)
		}
		return p.add(page)
	})
	return cluster.Pending(p), err
}

// Lease asks a member whether this one may prove a block, or another task to which the handler gives a number.
func (l *Link) Lease(ctx context.Context, member uint64, height types.Height) (bool, error) {
	body, err := l.call(ctx, member, frameLease, frameGranted, encodeNumber(uint64(height)))
	if err != nil {
		return false, err
	}
	return decodeGranted(body)
}

// Proof asks a member for the proof of the first of the given blocks for which it has one. There may be at most
// [MaxProofs]. They may also be other tasks to which the handler gives numbers. It returns height 0 if there is no
// proof.
func (l *Link) Proof(ctx context.Context, member uint64, of []types.Height) (types.Height, []byte, error) {
	c, err := l.callerOf(member)
	if err != nil {
		return 0, nil, err
	}
	var p proof
	err = c.stream(ctx, frameProof, frameProofPart, encodeProofs(of), p.add)
	if err == nil && p.height != 0 && !slices.Contains(of, p.height) {
		err = fmt.Errorf("%w: the proof of block %d, which was not asked for", ErrFrame, p.height)
	}
	return p.height, p.data, err
}

// Report asks a member for its [Report].
func (l *Link) Report(ctx context.Context, member uint64) (Report, error) {
	body, err := l.call(ctx, member, frameReport, frameReportOf, nil)
	if err != nil {
		return Report{}, err
	}
	return decodeReport(body)
}

// AskMembers asks a member for its cluster and the cluster's members. It is for a member that was added but has no log
// yet. own is this member's Hello; its Cluster is ignored.
func AskMembers(ctx context.Context, self Identity, to Peer, own Hello) (h Hello, members []byte, err error) {
	own.Version, own.Member, own.Wall = version, self.pin.Member(), uint64(time.Now().UnixMilli())
	own.Cluster = [16]byte{}
	conn, h, err := dial(ctx, self, to, calls, func() Hello { return own })
	if err != nil {
		return h, nil, err
	}
	if cause := checkHello(own, h, 0, &known{Peer: to}, formerMember{}, to.Pin); cause != CauseNone {
		refusal := &Refusal{Cause: cause, Told: true, Theirs: h.Chain, Ours: own.Chain}
		return h, nil, errors.Join(refusal, conn.Close())
	}
	var c caller
	c.begin(conn)
	ended := make(chan error, 1)
	go func() { ended <- c.use(conn) }()
	members, err = c.call(ctx, frameMembers, frameMembersOf, nil)
	_ = conn.Close() // no call is pending
	<-ended
	return h, members, err
}

// Bounds of the calls of one connection that are answered concurrently: calls with short answers, and calls with long
// ones.
const (
	maxCalls = 256
	maxLong  = 2
)

// answer answers calls until the connection breaks.
func (l *Link) answer(p *peer, conn *tls.Conn, reader *bufio.Reader) error {
	ctx, cancel := context.WithCancel(p.ctx)
	var writing sync.Mutex
	var answering sync.WaitGroup
	all, long := make(chan struct{}, maxCalls), make(chan struct{}, maxLong)
	defer func() {
		cancel()
		answering.Wait()
	}()
	for {
		k, body, err := readFrame(reader, MaxTakeBytes+maxHello+8*MaxTake)
		if err != nil {
			return err
		}
		number, body, err := cutNumber(body)
		if err != nil {
			return err
		}
		slots := all
		if k == frameBlocks || k == framePending || k == frameMembers || k == frameProof {
			slots = long
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		answering.Go(func() {
			defer func() { <-slots }()
			err := l.do(ctx, p.ID(), k, body, func(k kind, answer []byte) error {
				writing.Lock()
				defer writing.Unlock()
				return writeCall(conn, k, number, answer)
			})
			if err != nil { // after an invalid call, nothing more is read
				_ = conn.Close() // which ends the reading
			}
		})
	}
}

// do executes a member's call, and writes the answer. An error means that the call was invalid or the write failed.
func (l *Link) do(ctx context.Context, member uint64, k kind, body []byte, write func(kind, []byte) error) error {
	handler := l.config.Handler
	switch k {
	case frameTake:
		encoded, err := decodeTake(body)
		if err != nil {
			return err
		}
		return write(frameTaken, handler.Take(ctx, member, encoded).encode())
	case frameBlocks:
		h, err := decodeHeights(body)
		if err != nil {
			return err
		}
		blocks, err := handler.Blocks(h.from, min(h.to, h.from+maxBlocks-1))
		if err != nil {
			return write(frameFailed, encodeFailed(err.Error()))
		}
		return write(frameBlocksOf, encodeBlocks(blocks))
	case frameLease:
		height, err := decodeNumber(body)
		if err != nil {
			return err
		}
		return write(frameGranted, encodeGranted(handler.Lease(member, types.Height(height))))
	case frameProof:
		of, err := decodeProofs(body)
		if err != nil {
			return err
		}
		height, data, err := handler.Proof(of)
		if err != nil {
			return write(frameFailed, encodeFailed(err.Error()))
		}
		return proof{height, data}.parts(func(part []byte) error { return write(frameProofPart, part) })
	}
	if len(body) > 0 {
		return fmt.Errorf("%w: kind %d of %d bytes", ErrFrame, k, len(body))
	}
	switch k {
	case framePending:
		pending, err := handler.Pending()
		if err != nil {
			return write(frameFailed, encodeFailed(err.Error()))
		}
		return pool(pending).pages(func(page []byte) error { return write(framePage, page) })
	case frameMembers:
		return write(frameMembersOf, handler.Members())
	case frameReport:
		return write(frameReportOf, handler.Report().encode())
	}
	return fmt.Errorf("%w: kind %d is not a request", ErrFrame, k)
}
