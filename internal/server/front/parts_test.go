package front

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/server/request"
)

// serial answers with a body in the given number of parts, and fails after some of them.
type serial struct {
	parts, fails int
	hook         func(context.Context)
}

const partBytes = 200 << 10

func (s serial) AppendTo(ctx context.Context, _, dst []byte, sink func([]byte) error) ([]byte, error) {
	for i := range s.parts {
		if s.fails == i+1 {
			return dst, errors.New("it cannot be read")
		}
		if err := sink([]byte(strings.Repeat("x", partBytes))); err != nil {
			return dst, err
		}
		if s.hook != nil {
			s.hook(ctx)
		}
	}
	return append(dst, "end"...), nil
}

func (serial) Compress(_ context.Context, _, dst []byte) ([]byte, bool) { return dst, false }

func (serial) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }

// TestPartedAnswer: the answer comes in chunks, and the connection stays open. The rate is charged for it, and no
// memory is held.
func TestPartedAnswer(t *testing.T) {
	s, address := start(t, Config{RPC: serial{parts: 5}, Fallback: serial{}, Origins: []string{"*"}})
	c := dial(t, address)
	for range 2 {
		c.send(strings.Replace(post("x"), "\r\n\r\n", "\r\nOrigin: http://a\r\nAccept-Encoding: gzip\r\n\r\n", 1))
		r, err := http.ReadResponse(c.reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if want := strings.Repeat("x", 5*partBytes) + "end"; err != nil || string(body) != want {
			t.Fatalf("got %d bytes, %v, want %d", len(body), err, len(want))
		}
		if r.StatusCode != http.StatusOK || r.ContentLength != -1 || r.Close ||
			r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Content-Encoding") != "" ||
			r.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("got %+v", r)
		}
	}
	if stats := s.Stats(); stats.Memory != 0 {
		t.Errorf("got %+v, want no memory held", stats)
	}
}

// TestBrokenPartedAnswer: a broken answer in parts has no end, so that no client mistakes it for the whole answer.
func TestBrokenPartedAnswer(t *testing.T) {
	_, address := start(t, Config{RPC: serial{parts: 5, fails: 3}, Fallback: serial{}})
	c := dial(t, address)
	c.send(post("x"))
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r.Body); !errors.Is(err, io.ErrUnexpectedEOF) || len(body) != 2*partBytes {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
	c.ended()
}

// TestPartedAnswerTakesItsTime: a request has its full time again after each part that its client has read.
func TestPartedAnswerTakesItsTime(t *testing.T) {
	const budget = time.Minute
	var left []time.Duration
	hook := func(ctx context.Context) {
		deadline, ok := ctx.Deadline()
		if !ok || ctx.Err() != nil {
			t.Errorf("got the deadline %v, %v", deadline, ctx.Err())
		}
		<-time.After(20 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Error("the request has ended")
		default:
		}
		left = append(left, time.Until(deadline))
	}
	_, address := start(t, Config{RPC: serial{parts: 4, hook: hook}, Fallback: serial{}, Budget: budget})
	c := dial(t, address)
	c.send(post("x"))
	if got := c.read(); len(got.body) != 4*partBytes+len("end") {
		t.Errorf("got %d bytes", len(got.body))
	}
	for _, got := range left {
		if got < budget-5*time.Second {
			t.Errorf("got %v left after a part, want nearly %v", got, budget)
		}
	}
}

// TestExtend: a wait under the previous time limit does not end with it.
func TestExtend(t *testing.T) {
	r := request.New(t.Context())
	now := time.Now()
	r.Begin(now, time.Nanosecond)
	<-r.Done()
	r.Extend(now, time.Hour)
	if r.Err() != nil {
		t.Errorf("got %v, want none", r.Err())
	}
	select {
	case <-r.Done():
		t.Error("the request has ended")
	default:
	}
	r.Extend(now, 0)
	if _, ok := r.Deadline(); ok {
		t.Error("got a deadline, want none")
	}
	r.End()
}
