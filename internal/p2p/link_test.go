package p2p

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/types"
)

// member is a link with its handler.
type member struct {
	*Link
	Peer
	identity Identity
	handler  *testHandler
}

// testHandler is a handler that records its calls.
type testHandler struct {
	arrived     chan *raftpb.Message
	unreachable chan uint64
	refused     chan *Refusal
	taken       func([][]byte) Taken
	hangs       sync.Mutex // while it is held, Report does not return
}

func (m *testHandler) Deliver(message *raftpb.Message) { m.arrived <- message }

func (m *testHandler) Unreachable(id uint64) {
	select {
	case m.unreachable <- id:
	default: // nobody reads all of them
	}
}

func (m *testHandler) Refused(_ Peer, r *Refusal) {
	select {
	case m.refused <- r:
	default: // one call suffices
	}
}

func (m *testHandler) Take(_ context.Context, _ uint64, encoded [][]byte) Taken {
	return m.taken(encoded)
}

func (m *testHandler) Blocks(from, to types.Height) (blocks [][]byte, err error) {
	if from == 404 {
		return nil, errors.New("no such block")
	}
	for h := from; h <= to; h++ {
		blocks = append(blocks, bytes.Repeat([]byte{byte(h)}, 3<<20))
	}
	return blocks, nil
}

func (m *testHandler) Pending() (cluster.Pending, error) {
	p := cluster.Pending{Applied: 6, Head: cluster.Head{Height: 7, Hash: types.BlockHash{8}}}
	for i := range 30 { // pages of a MiB
		tx := cluster.PendingTransaction{Time: uint64(i), Encoded: bytes.Repeat([]byte{byte(i)}, 100_000)}
		p.Transactions = append(p.Transactions, tx)
	}
	return p, nil
}

func (m *testHandler) Lease(_ uint64, h types.Height) bool { return h == 5 }

func (m *testHandler) Proof(of []types.Height) (types.Height, []byte, error) {
	switch of[0] {
	case 404:
		return 0, nil, errors.New("the disk is broken")
	case 5:
		return 5, bytes.Repeat([]byte{5}, 3<<20), nil // in parts of a MiB
	case 6:
		return 7, []byte{7}, nil
	case 8:
		return 8, make([]byte, maxProof+1), nil
	}
	return 0, nil, nil
}

func (m *testHandler) Members() []byte { return []byte("the members") }
func (m *testHandler) Report() Report {
	m.hangs.Lock()
	defer m.hangs.Unlock()
	return Report{Wall: uint64(time.Now().Add(time.Hour).UnixMilli()), Applied: 3, Height: 4, Boot: 5, Program: "test"}
}

func newIdentity(t *testing.T) Identity {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := ReadIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func testHello() Hello {
	return Hello{
		Version:   version,
		Chain:     types.BlockHash{1},
		Cluster:   [16]byte{2},
		Boot:      10,
		Term:      5,
		LastIndex: 100,
		Kinds:     7,
		Pool:      [32]byte{3},
		Program:   "cairn test",
	}
}

// start starts a member on an address, whose port may be 0.
func start(t *testing.T, identity Identity, address string) *member {
	t.Helper()
	var listener net.Listener
	eventually(t, func() (free bool) { // another program may have taken the released port meanwhile
		var err error
		if listener, err = net.Listen("tcp", address); err != nil && !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
		return err == nil
	})
	m := &member{
		Peer: Peer{Address: listener.Addr().String(), Pin: identity.Pin()}, identity: identity,
		handler: &testHandler{
			arrived: make(chan *raftpb.Message, 1000), unreachable: make(chan uint64, 1), refused: make(chan *Refusal, 1),
		},
	}
	m.Link = New(Config{Identity: identity, Handler: m.handler, Hello: testHello, Required: 3})
	served := make(chan error, 1)
	go func() { served <- m.Serve(listener) }()
	t.Cleanup(func() {
		m.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return m
}

// over is a context that has ended, but has not notified anyone yet.
type over struct{ context.Context }

func (over) Err() error { return context.Canceled }

// A connection may arrive while the link is being closed, before its listener is.
func TestServeClosesItsListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(Config{Identity: newIdentity(t), Handler: new(testHandler), Hello: testHello})
	defer l.Close()
	l.ctx = over{l.ctx}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := l.Serve(listener); err != nil {
		t.Error(err)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener of a link that is closed: error %v, want %v", err, net.ErrClosed)
	}
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection that came too late: error %v, want %v", err, io.EOF)
	}
}

// apart returns an address whose port nobody else takes while it is free, if possible. On 127.0.0.1 any dialing or
// listening process may take it.
func apart() string {
	if runtime.GOOS == "linux" {
		return "127.0.0.2:0"
	}
	return "127.0.0.1:0"
}

// startPair starts two members that reach each other.
func startPair(t *testing.T) (a, b *member) {
	t.Helper()
	a, b = start(t, newIdentity(t), "127.0.0.1:0"), start(t, newIdentity(t), apart())
	both := []Peer{a.Peer, b.Peer}
	a.SetPeers(both)
	b.SetPeers(both)
	eventually(t, func() bool { return a.Peers()[b.ID()].Connected && b.Peers()[a.ID()].Connected })
	return a, b
}

// eventually waits until a condition holds.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for !is() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("it is not so after a minute")
		}
	}
}

func message(from, to *member, kind raftpb.MessageType, index uint64, data ...byte) *raftpb.Message {
	a, b, term := from.ID(), to.ID(), uint64(9)
	m := &raftpb.Message{Type: &kind, From: &a, To: &b, Term: &term, Index: &index}
	if len(data) > 0 {
		m.Entries = []*raftpb.Entry{{Data: data}}
	}
	return m
}

func TestMessagesOfALaneArriveInOrder(t *testing.T) {
	a, b := startPair(t)
	const count = 200
	for i := range uint64(count) {
		a.Send(message(a, b, raftpb.MsgApp, i, bytes.Repeat([]byte{byte(i)}, 10_000)...))
		a.Send(message(a, b, raftpb.MsgHeartbeat, i))
	}
	next := map[raftpb.MessageType]uint64{}
	for range 2 * count {
		m := <-b.handler.arrived
		if m.GetIndex() != next[m.GetType()] || m.GetTerm() != 9 || m.GetFrom() != a.ID() {
			t.Fatalf("got %v, expected index %d", m, next[m.GetType()])
		}
		if m.GetType() == raftpb.MsgApp && !bytes.Equal(m.GetEntries()[0].GetData(),
			bytes.Repeat([]byte{byte(m.GetIndex())}, 10_000)) {
			t.Fatal("the entry is not the one that was sent")
		}
		next[m.GetType()]++
	}
}

func TestWhatCannotBeSentIsReported(t *testing.T) {
	a, b := start(t, newIdentity(t), "127.0.0.1:0"), start(t, newIdentity(t), "127.0.0.1:0")
	a.Send(message(a, b, raftpb.MsgApp, 1))
	if id := <-a.handler.unreachable; id != b.ID() {
		t.Errorf("%x is said to be unreachable, it is %x", id, b.ID())
	}
	box := outbox{ready: make(chan struct{}, 1), up: true}
	for range maxQueued {
		if !box.put(message(a, b, raftpb.MsgHeartbeat, 1)) {
			t.Fatal("a message was refused while there was room")
		}
	}
	if box.put(message(a, b, raftpb.MsgHeartbeat, 1)) {
		t.Error("one message too many waits")
	}
	box.take()
	large := make([]byte, MaxFrame-100)
	for box.bytes+len(large) <= maxQueuedBytes {
		if !box.put(message(a, b, raftpb.MsgApp, 1, large...)) {
			t.Fatal("an entry was refused while there was room")
		}
	}
	if box.put(message(a, b, raftpb.MsgApp, 1, large...)) {
		t.Errorf("%d bytes wait", box.bytes)
	}
	if box.close(); box.put(message(a, b, raftpb.MsgApp, 1)) {
		t.Error("a message waits for no connection")
	}
}

func TestCalls(t *testing.T) {
	a, b := startPair(t)
	ctx := t.Context()
	b.handler.taken = func(encoded [][]byte) Taken {
		results := make([]Result, len(encoded))
		results[1] = Result{Code: -32010, Message: "no", Data: []byte(`{"x":1}`)}
		return Taken{Index: 77, Results: results}
	}
	got, err := a.Take(ctx, b.ID(), [][]byte{{1}, {2}})
	if err != nil || got.Index != 77 || len(got.Results) != 2 || got.Results[1].Message != "no" ||
		got.Results[0].Code != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	b.handler.taken = func([][]byte) Taken { return Taken{Refused: 1} }
	if got, err = a.Take(ctx, b.ID(), [][]byte{{1}}); err != nil || got.Refused != 1 {
		t.Errorf("got %+v, %v, want Refused 1", got, err)
	}
	b.handler.taken = func([][]byte) Taken { return Taken{Index: 1} }
	if _, err = a.Take(ctx, b.ID(), [][]byte{{1}}); !errors.Is(err, ErrFrame) {
		t.Errorf("no result of one transaction: error %v, want %v", err, ErrFrame)
	}
	blocks, err := a.Blocks(ctx, b.ID(), 1, 12)
	if err != nil || len(blocks) != 10 || blocks[9][0] != 10 || len(blocks[9]) != 3<<20 {
		t.Errorf("%d blocks of 3 MiB in a frame, error %v", len(blocks), err)
	}
	if _, err = a.Blocks(ctx, b.ID(), 404, 404); !errors.As(err, new(*FailedError)) {
		t.Errorf("a block that is not there: error %v", err)
	}
	pending, err := a.Pending(ctx, b.ID())
	if err != nil || pending.Applied != 6 || pending.Head.Height != 7 || len(pending.Transactions) != 30 ||
		pending.Transactions[29].Time != 29 ||
		!bytes.Equal(pending.Transactions[29].Encoded, bytes.Repeat([]byte{29}, 100_000)) {
		t.Errorf("%d pending transactions, error %v", len(pending.Transactions), err)
	}
	for height, want := range map[types.Height]bool{4: false, 5: true} {
		if granted, err := a.Lease(ctx, b.ID(), height); err != nil || granted != want {
			t.Errorf("lease of %d: got %v, want %v, error %v", height, granted, want, err)
		}
	}
	checkProofs(t, a.Link, b.ID())
	if report, err := a.Report(ctx, b.ID()); err != nil || report.Applied != 3 || report.Program != "test" {
		t.Errorf("report %+v, error %v, want Applied 3 and Program test", report, err)
	}
	eventually(t, func() bool { return a.Peers()[b.ID()].Report.Height == 4 })
	if offset := a.Peers()[b.ID()].Offset; offset < 59*time.Minute || offset > 61*time.Minute {
		t.Errorf("a clock that is an hour ahead is measured to be %v", offset)
	}
	if _, err := a.Report(ctx, 12345); !errors.Is(err, ErrAway) {
		t.Errorf("a report of nobody: error %v, want %v", err, ErrAway)
	}
}

// checkProofs requests proofs from a member: one of several parts, none, one that was not requested, and one too large.
func checkProofs(t *testing.T, a *Link, b uint64) {
	t.Helper()
	ctx := t.Context()
	height, data, err := a.Proof(ctx, b, []types.Height{5, 9})
	if err != nil || height != 5 || !bytes.Equal(data, bytes.Repeat([]byte{5}, 3<<20)) {
		t.Errorf("a proof of 3 MiB: block %d, %d bytes, error %v", height, len(data), err)
	}
	if height, data, err := a.Proof(ctx, b, []types.Height{9}); err != nil || height != 0 || len(data) != 0 {
		t.Errorf("no proof: block %d, %d bytes, error %v", height, len(data), err)
	}
	if _, _, err := a.Proof(ctx, b, []types.Height{404}); !errors.As(err, new(*FailedError)) {
		t.Errorf("a proof that cannot be read: error %v", err)
	}
	for _, wrong := range []types.Height{6, 8} {
		if _, _, err := a.Proof(ctx, b, []types.Height{wrong}); !errors.Is(err, ErrFrame) {
			t.Errorf("an answer that may not be, to %d: error %v, want %v", wrong, err, ErrFrame)
		}
	}
}

// A call fails when the connection breaks, or when the call's own time is over.
func TestCallsEnd(t *testing.T) {
	a, b := startPair(t)
	asked, release := make(chan struct{}), make(chan struct{})
	b.handler.taken = func(encoded [][]byte) Taken {
		asked <- struct{}{}
		<-release
		return Taken{Results: make([]Result, len(encoded))}
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 2)
	ask := func(ctx context.Context) {
		_, err := a.Take(ctx, b.ID(), [][]byte{{1}})
		failed <- err
	}
	go ask(ctx)
	<-asked
	cancel()
	if err := <-failed; !errors.Is(err, ErrAway) || !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose time is over: error %v", err)
	}
	go ask(t.Context())
	<-asked
	a.SetPeers(nil)
	if err := <-failed; !errors.Is(err, ErrAway) {
		t.Errorf("a call to a member that was removed meanwhile: error %v, want %v", err, ErrAway)
	}
	close(release)
}

func TestAMemberThatComesBackIsReached(t *testing.T) {
	a, b := startPair(t)
	b.Close()
	eventually(t, func() bool { return !a.Peers()[b.ID()].Connected })
	again := start(t, b.identity, b.Address)
	again.SetPeers([]Peer{a.Peer})
	eventually(t, func() bool { return a.Peers()[b.ID()].Connected })
	a.Send(message(a, again, raftpb.MsgApp, 3))
	if m := <-again.handler.arrived; m.GetIndex() != 3 {
		t.Errorf("got %v, want GetIndex 3", m)
	}
}

// A member that hangs keeps its connections, but counts as unreachable.
func TestAMemberThatHangsIsNotReached(t *testing.T) {
	a, b := startPair(t)
	b.handler.hangs.Lock()
	eventually(t, func() bool {
		s := a.Peers()[b.ID()]
		return !s.Connected && s.Fault == errSilent.Error()
	})
	b.handler.hangs.Unlock()
	eventually(t, func() bool { return a.Peers()[b.ID()].Connected })
}

func TestARemovedMemberIsCut(t *testing.T) {
	a, b := startPair(t)
	a.SetPeers([]Peer{a.Peer})
	eventually(t, func() bool { return a.Refused()["removed"] > 0 && !b.Peers()[a.ID()].Connected })
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.peers) != 0 {
		t.Errorf("%d members are left, want 0", len(a.peers))
	}
}

func TestEveryRefusal(t *testing.T) {
	for _, tc := range []struct {
		cause Cause
		spoil func(a *member, b Identity, h *Hello)
	}{
		{CauseNone, func(*member, Identity, *Hello) {}},
		{CauseVersion, func(_ *member, _ Identity, h *Hello) { h.Version = version + 1 }},
		{CauseChain, func(_ *member, _ Identity, h *Hello) { h.Chain[0]++ }},
		{CauseCluster, func(_ *member, _ Identity, h *Hello) { h.Cluster[0]++ }},
		{CauseCluster, func(_ *member, _ Identity, h *Hello) { h.Cluster = [16]byte{} }},
		{CauseUnknown, func(_ *member, _ Identity, h *Hello) { h.Member++ }},
		{CauseRemoved, func(a *member, _ Identity, _ *Hello) { a.SetPeers(nil) }},
		{CauseBoot, func(a *member, b Identity, _ *Hello) { a.peers[b.Pin().Member()].boot = 11 }},
		{CauseForgotten, func(a *member, b Identity, _ *Hello) { a.peers[b.Pin().Member()].promised = promise{6, 0} }},
		{CauseForgotten, func(a *member, b Identity, _ *Hello) { a.peers[b.Pin().Member()].promised = promise{5, 101} }},
		{CauseNone, func(a *member, b Identity, _ *Hello) { a.peers[b.Pin().Member()].promised = promise{4, 101} }},
		{CauseKinds, func(_ *member, _ Identity, h *Hello) { h.Kinds = 1 }},
		{CausePool, func(_ *member, _ Identity, h *Hello) { h.Pool[0]++ }},
	} {
		t.Run(tc.cause.String(), func(t *testing.T) {
			a, b := start(t, newIdentity(t), "127.0.0.1:0"), newIdentity(t)
			a.SetPeers([]Peer{{Address: "127.0.0.1:1", Pin: b.Pin()}})
			h := testHello()
			h.Member = b.Pin().Member()
			a.mu.Lock()
			locked := tc.cause == CauseBoot || tc.cause == CauseForgotten || tc.cause == CauseNone
			if !locked {
				a.mu.Unlock()
			}
			tc.spoil(a, b, &h)
			if locked {
				a.mu.Unlock()
			}
			conn, _, err := dial(t.Context(), b, a.Peer, order, func() Hello { return h })
			if conn != nil {
				_ = conn.Close() // nothing was sent
			}
			var refusal *Refusal
			if tc.cause == CauseNone && err != nil ||
				tc.cause != CauseNone && (!errors.As(err, &refusal) || refusal.Cause != tc.cause) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// A member that is refused permanently learns the reason, the facts behind it and the remedy.
func TestFinalRefusals(t *testing.T) {
	for _, tc := range []struct {
		cause Cause
		spoil func(h *Hello)
		says  []string
	}{
		{CauseChain, func(h *Hello) { h.Chain = types.BlockHash{7} },
			[]string{types.BlockHash{1}.String(), types.BlockHash{7}.String(), "cairn cluster join"}},
		{CauseCluster, func(h *Hello) { h.Cluster[0]++ }, []string{"cairn cluster join"}},
		{CauseRecovered, func(h *Hello) { h.Cluster = [16]byte{9} },
			[]string{"this cluster was recovered at block 41 without you: this disk must not run"}},
		{CauseRemoved, func(*Hello) {}, []string{"removed from the cluster at block 40"}},
	} {
		t.Run(tc.cause.String(), func(t *testing.T) {
			a, b := start(t, newIdentity(t), "127.0.0.1:0"), start(t, newIdentity(t), apart())
			a.config.Past = func() (gone []cluster.Gone, former []cluster.Former) {
				if tc.cause == CauseRemoved {
					gone = []cluster.Gone{{ID: b.ID(), Name: "b", Height: 40}}
				}
				return gone, []cluster.Former{{Cluster: [16]byte{9}, Height: 41}}
			}
			b.config.Hello = func() Hello {
				h := testHello()
				tc.spoil(&h)
				return h
			}
			if tc.cause != CauseRecovered && tc.cause != CauseRemoved { // they are not members any more
				a.SetPeers([]Peer{b.Peer})
			}
			b.SetPeers([]Peer{a.Peer})
			r := <-b.handler.refused
			if r.Cause != tc.cause {
				t.Errorf("the cause is %v, want %v", r.Cause, tc.cause)
			}
			for _, want := range tc.says {
				if !strings.Contains(r.Error(), want) {
					t.Errorf("%q does not say %q", r, want)
				}
			}
			if a.LastRefused(tc.cause).IsZero() {
				t.Error("who refuses does not know when")
			}
		})
	}
}

// A promise that arrives on another connection while a Hello is on its way does not count as forgotten.
func TestAPromiseDuringAHello(t *testing.T) {
	a, b := start(t, newIdentity(t), "127.0.0.1:0"), newIdentity(t)
	a.SetPeers([]Peer{{Address: "127.0.0.1:1", Pin: b.Pin()}})
	say := func() Hello {
		h := testHello()
		h.Member = b.Pin().Member()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.peers[h.Member].promised.raise(h.Term, h.LastIndex+1)
		return h
	}
	conn, _, err := dial(t.Context(), b, a.Peer, pulse, say)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	var refusal *Refusal
	if _, _, err := dial(t.Context(), b, a.Peer, order, say); !errors.As(err, &refusal) ||
		refusal.Cause != CauseForgotten {
		t.Errorf("a promise from before the connection: error %v", err)
	}
}

// The dialing side refuses a wrong key before it sends anything; the accepting side does so after the Hello.
func TestOtherKeys(t *testing.T) {
	a, b, other := start(t, newIdentity(t), "127.0.0.1:0"), newIdentity(t), newIdentity(t)
	a.SetPeers([]Peer{{Address: "127.0.0.1:1", Pin: b.Pin()}})
	h := testHello()
	h.Member = b.Pin().Member()
	var refusal *Refusal
	if _, _, err := dial(t.Context(), other, a.Peer, pulse, func() Hello { return h }); !errors.As(err, &refusal) ||
		refusal.Cause != CausePin {
		t.Errorf("a member's id with another key: error %v", err)
	}
	if a.Refused()["pin"] != 1 {
		t.Errorf("counted: got %v", a.Refused())
	}
	_, _, err := dial(t.Context(), b, Peer{Address: a.Address, Pin: other.Pin()}, pulse, func() Hello { return h })
	if !errors.As(err, &refusal) || refusal.Cause != CausePin {
		t.Errorf("a listener with another key: error %v", err)
	}
}

// All connections of strangers are counted, and they do not fill the log.
func TestRefusalsAreToldNowAndThen(t *testing.T) {
	a, other := start(t, newIdentity(t), "127.0.0.1:0"), newIdentity(t)
	var lines bytes.Buffer // written under the link's eyes only: each refusal is answered after its line
	a.config.Log = slog.New(slog.NewTextHandler(&lines, nil))
	begun := time.Now()
	const strangers = 40
	for range strangers {
		var refusal *Refusal
		if _, _, err := dial(t.Context(), other, a.Peer, pulse, testHello); !errors.As(err, &refusal) {
			t.Fatal(err)
		}
	}
	a.Close()
	counted := uint64(0)
	for _, n := range a.Refused() {
		counted += n
	}
	logged, most := strings.Count(lines.String(), "refused a connection to or from a cluster member"), 1+int(time.Since(begun)/refusalPause)
	if counted != strangers || logged < 1 || logged > most {
		t.Errorf("%d were refused, of which %d were logged, at most %d expected:\n%s",
			counted, logged, most, &lines)
	}
}

// The dialing end also checks: both ends refuse for the same reasons.
func TestTheDialedMemberIsJudged(t *testing.T) {
	a, b := start(t, newIdentity(t), "127.0.0.1:0"), start(t, newIdentity(t), "127.0.0.1:0")
	b.config.Hello = func() Hello {
		h := testHello()
		h.Pool[0]++
		return h
	}
	b.SetPeers([]Peer{a.Peer})
	a.SetPeers([]Peer{b.Peer})
	want := (&Refusal{Cause: CausePool}).Error()
	eventually(t, func() bool { return a.Peers()[b.ID()].Fault == want && b.Peers()[a.ID()].Fault == want })
}

func TestPromises(t *testing.T) {
	a, b := startPair(t)
	of := func() promise {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.peers[b.ID()].promised
	}
	reject := message(b, a, raftpb.MsgAppResp, 99)
	reject.Reject = new(true)
	for _, step := range []struct {
		m    *raftpb.Message
		want promise
	}{
		{message(b, a, raftpb.MsgPreVote, 5), promise{}}, // the term is one that it has not entered
		{message(b, a, raftpb.MsgVote, 5), promise{9, 0}},
		{message(b, a, raftpb.MsgAppResp, 50), promise{9, 50}},
		{reject, promise{9, 50}},
		{message(b, a, raftpb.MsgAppResp, 40), promise{9, 50}},
	} {
		b.Send(step.m)
		<-a.handler.arrived
		if got := of(); got != step.want {
			t.Errorf("after %v: %+v, want %+v", step.m, got, step.want)
		}
	}
	p := promise{9, 50}
	if p.raise(10, 1); p != (promise{10, 1}) {
		t.Errorf("a new term: got %+v", p)
	}
}

// Anything but a message of a member to this one ends the connection.
func TestForeignMessages(t *testing.T) {
	a, b := start(t, newIdentity(t), "127.0.0.1:0"), start(t, newIdentity(t), "127.0.0.1:0")
	encode := func(change func(*raftpb.Message)) []byte {
		m := message(b, a, raftpb.MsgApp, 1)
		change(m)
		body, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	for name, tc := range map[string]struct {
		k    kind
		c    channel
		body []byte
		ok   bool
	}{
		"good":            {frameMessage, order, encode(func(*raftpb.Message) {}), true},
		"another kind":    {frameTake, order, encode(func(*raftpb.Message) {}), false},
		"no protobuf":     {frameMessage, order, []byte{0xff}, false},
		"another lane":    {frameMessage, pulse, encode(func(*raftpb.Message) {}), false},
		"from another":    {frameMessage, order, encode(func(m *raftpb.Message) { m.From = new(uint64(1)) }), false},
		"to another":      {frameMessage, order, encode(func(m *raftpb.Message) { m.To = new(uint64(1)) }), false},
		"a local message": {frameMessage, pulse, encode(func(m *raftpb.Message) { m.Type = new(raftpb.MsgHup) }), false},
		"a proposal":      {frameMessage, pulse, encode(func(m *raftpb.Message) { m.Type = new(raftpb.MsgProp) }), false},
	} {
		if _, err := decodeMessage(tc.k, tc.body, tc.c, b.ID(), a.ID()); (err == nil) != tc.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A stranger cannot have anything longer read before its Hello, and a new stranger displaces the oldest.
func TestStrangers(t *testing.T) {
	a, stranger := start(t, newIdentity(t), "127.0.0.1:0"), newIdentity(t)
	connect := func() *tls.Conn {
		conn, err := tls.Dial("tcp", a.Address, stranger.config(nil, protocols[calls]))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	long := connect()
	if _, err := long.Write(append(binary.LittleEndian.AppendUint32(nil, maxHello+2), byte(frameHello))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(long); err != nil && !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("after a long frame: error %v", err)
	}
	first := connect()
	for range maxStrangers {
		connect()
	}
	if n, err := first.Read(make([]byte, 1)); err == nil {
		t.Errorf("the oldest stranger reads %d bytes", n)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.strangers) > maxStrangers {
		t.Errorf("%d strangers", len(a.strangers))
	}
}

// A host that opens many connections displaces only its own, and delays nobody by handshakes that it does not finish.
func TestStrangersOfOneHost(t *testing.T) {
	a, stranger := start(t, newIdentity(t), "127.0.0.1:0"), newIdentity(t)
	other := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	dial := func(dialer *net.Dialer) {
		raw, err := dialer.Dial("tcp", a.Address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = raw.Close() })
		if err := tls.Client(raw, stranger.config(nil, protocols[calls])).Handshake(); err != nil {
			t.Fatal(err)
		}
	}
	dial(&other)
	hello := firstMessage(t, stranger)
	for range 2 * maxStrangers {
		raw, err := net.Dial("tcp", a.Address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = raw.Close() })
		if _, err := raw.Write(hello); err != nil {
			t.Fatal(err)
		}
	}
	dial(new(net.Dialer))
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.ContainsFunc(a.strangers, func(c net.Conn) bool { return hostOf(c) == "127.0.0.2" }) {
		t.Error("the other host's connection made way for the flood")
	}
}

// firstMessage returns the first message of a handshake with a link.
func firstMessage(t *testing.T, of Identity) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(theirs, of.config(nil, protocols[calls])).Handshake() // nobody answers
		_ = theirs.Close()
	}()
	message := make([]byte, 16<<10)
	n, err := ours.Read(message)
	if err = errors.Join(err, ours.Close()); err != nil {
		t.Fatal(err)
	}
	return message[:n]
}

func isReset(err error) bool { return errors.As(err, new(*net.OpError)) }

func TestAskMembers(t *testing.T) {
	a, b := start(t, newIdentity(t), "127.0.0.1:0"), newIdentity(t)
	if _, _, err := AskMembers(t.Context(), b, a.Peer, testHello()); !errors.As(err, new(*Refusal)) {
		t.Errorf("before it was added: error %v", err)
	}
	a.SetPeers([]Peer{{Address: "127.0.0.1:1", Pin: b.Pin()}})
	own := testHello()
	own.Pool, own.Term, own.LastIndex = [32]byte{}, 0, 0 // this member has neither pool nor log
	h, members, err := AskMembers(t.Context(), b, a.Peer, own)
	if err != nil || h.Cluster != testHello().Cluster || string(members) != "the members" {
		t.Errorf("got %+v, %q, %v", h, members, err)
	}
}

func TestIdentity(t *testing.T) {
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	one, err := ReadIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadIdentity(key)
	if err != nil || again.Pin() != one.Pin() || one.Pin().Member() == 0 {
		t.Errorf("read again it is %v, not %v (%v)", again.Pin(), one.Pin(), err)
	}
	if p, err := ParsePin(one.Pin().String()); err != nil || p != one.Pin() {
		t.Errorf("got %v, want %v, %v", p, one.Pin(), err)
	}
	for _, bad := range []string{"", "zz", one.Pin().String() + "00"} {
		if _, err := ParsePin(bad); err == nil {
			t.Errorf("%q is a pin", bad)
		}
	}
	for name, bad := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("x"), "more": append(slices.Clone(key), 'x'),
		"no key": []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
	} {
		if _, err := ReadIdentity(bad); !errors.Is(err, errNoKey) {
			t.Errorf("%s: error %v, want %v", name, err, errNoKey)
		}
	}
}

func TestCausesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for c := CauseNone + 1; c <= causes; c++ {
		if seen[c.String()] || c.String() == "" || (&Refusal{Cause: c}).Error() == "refused: " {
			t.Errorf("cause %d: got %q, error %q", c, c, &Refusal{Cause: c})
		}
		seen[c.String()] = true
	}
	if fmt.Sprint(Cause(200)) != "other" {
		t.Error("a cause of a later version")
	}
}

// A member that does not read blocks only the goroutine that writes to it. Calls of other members end with their
// contexts.
func TestHangingMemberKeepsOneWaiting(t *testing.T) {
	near, far := net.Pipe()
	var c caller
	c.begin(near)
	ended, first := make(chan error, 1), make(chan error, 1)
	go func() { ended <- c.use(near) }()
	go func() {
		_, err := c.call(context.Background(), frameReport, frameReportOf, nil)
		first <- err
	}()
	if _, err := far.Read(make([]byte, 1)); err != nil { // of the first call, whose rest is not read
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	second := make(chan error, 1)
	go func() {
		_, err := c.call(ctx, frameReport, frameReportOf, nil)
		second <- err
	}()
	if err := <-second; !errors.Is(err, ErrAway) || !errors.Is(err, context.Canceled) {
		t.Errorf("the second call: error %v", err)
	}
	select {
	case err := <-first:
		t.Errorf("the first call ended before the second: error %v", err)
	default:
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-first; !errors.Is(err, ErrAway) {
		t.Errorf("the first call: error %v, want %v", err, ErrAway)
	}
	<-ended
}

// The next read reuses the memory of a message's frame, so the message must not refer to that memory.
func TestMessageKeepsNothingOfItsFrame(t *testing.T) {
	kind, from, to, index := raftpb.MessageType_MsgApp, uint64(1), uint64(2), uint64(3)
	sent := &raftpb.Message{
		Type:    &kind,
		From:    &from,
		To:      &to,
		Entries: []*raftpb.Entry{{Index: &index, Data: []byte("a transaction")}},
	}
	frame, err := appendMessage(nil, sent)
	if err != nil {
		t.Fatal(err)
	}
	k, body, err := readFrame(bytes.NewReader(frame), MaxFrame)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeMessage(k, body, order, from, to)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if !proto.Equal(got, sent) {
		t.Errorf("it became %v", got)
	}
}
