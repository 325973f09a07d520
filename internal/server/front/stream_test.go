package front

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

// turnsOf returns a server with one turn to receive, and functions that take the turn for another client and give it
// back.
func turnsOf(t *testing.T) (s *Server, take, give func()) {
	t.Helper()
	s = prepare(t, Config{Admission: admission.New(1)})
	lane, other := s.config.Admission.Arrivals(), turned{context.Background(), new(admission.Turn)}
	take = func() {
		if err := lane.Enter(other); err != nil {
			t.Fatal(err)
		}
	}
	return s, take, func() { lane.Leave(other) }
}

// eventually waits until the given numbers of receiving turns run and wait.
func eventually(t *testing.T, s *Server, running, waiting int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		got := s.config.Admission.Stats().Arrivals
		if got.Running == running && got.Waiting == waiting {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %d turns and %d waiting, want %d and %d", got.Running, got.Waiting, running, waiting)
		}
		runtime.Gosched()
	}
}

// TestReceivingTakesTurns: a connection waits for its turn when its first bytes or its next piece has arrived. Smaller
// requests on open connections do not wait, and all are answered.
func TestReceivingTakesTurns(t *testing.T) {
	s, take, give := turnsOf(t)
	address := serve(t, s)
	open := dial(t, address)
	open.send(post("{}"))
	if got := open.read(); got.status != 200 {
		t.Fatalf("got %d, want 200", got.status)
	}
	eventually(t, s, 0, 0)
	take()
	open.send(post("{}"))
	if got := open.read(); got.status != 200 {
		t.Errorf("a small request beside a turn: got %d, want 200", got.status)
	}
	open.send(post("{}" + strings.Repeat(" ", 4*streamPiece)))
	eventually(t, s, 1, 1)
	fresh := dial(t, address)
	fresh.send(post("{}"))
	eventually(t, s, 1, 2)
	give()
	for _, c := range []*rawClient{open, fresh} {
		if got := c.read(); got.status != 200 {
			t.Errorf("after the turn: got %d, want 200", got.status)
		}
	}
	eventually(t, s, 0, 0)
}

// TestTurnToReceiveEnds: a turn ends when its connection reads, writes or ends, or after a time limit.
func TestTurnToReceiveEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		next  func(*stream)
		after time.Duration
	}{
		{"read", func(s *stream) { go func() { _, _ = s.Read(make([]byte, 1)) }() }, 0},
		{"write", func(s *stream) { go func() { _, _ = s.Write([]byte{1}) }() }, 0},
		{"close", func(s *stream) { _ = s.Close() }, 0},
		{"nothing", func(*stream) {}, streamTurn},
		{"nothing in a turn after another", func(s *stream) {
			s.leave()
			<-time.After(streamTurn / 2)
			s.enter()
		}, streamTurn * 3 / 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, take, give := turnsOf(t)
				defer s.cancel()
				ours, theirs := net.Pipe()
				defer func() { _ = ours.Close(); _ = theirs.Close() }()
				stream := newStream(ours, s, peer{})
				go func() { _, _ = io.WriteString(theirs, "1") }()
				if _, err := stream.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				test.next(stream)
				take() // waits for the end of the body
				if got := time.Since(begun); got != test.after {
					t.Errorf("the turn ended after %s, want %s", got, test.after)
				}
				give()
			})
		})
	}
}
