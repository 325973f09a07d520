package push

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// desk hands out tickets for a number of calls and of bytes.
type desk struct {
	mu       sync.Mutex
	calls    int
	bytes    int
	released int
	gone     bool
}

type deskTicket struct {
	*desk
	held int
}

func (d *desk) ticket(*request.Request) Ticket { return &deskTicket{desk: d} }

func (t *deskTicket) Take() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls < 1 {
		return 3 * time.Second
	}
	t.calls--
	return 0
}

func (t *deskTicket) Owe() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls--
	return max(0, time.Duration(-t.calls)*3*time.Second)
}

func (t *deskTicket) Reserve(_ context.Context, bytes int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes > t.bytes {
		return false
	}
	t.bytes, t.held = t.bytes-bytes, bytes
	return true
}

func (t *deskTicket) Shrink(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes, t.held = t.bytes+t.held-bytes, bytes
}

func (t *deskTicket) Waits(f func()) bool { f(); return true }

func (t *deskTicket) Closing() {}

func (t *deskTicket) Gone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

func (t *deskTicket) Begin(context.Context) error { return nil }

func (t *deskTicket) End() {}

func (t *deskTicket) Yield(context.Context) error { return nil }

func (t *deskTicket) Hold(context.Context, int64) error { return nil }

func (t *deskTicket) Spend(int) {}

func (t *deskTicket) Room(bytes int) int { return bytes }

func (t *deskTicket) Charge(calls int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls -= calls - 1
}

func (t *deskTicket) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes, t.held, t.released = t.bytes+t.held, 0, t.released+1
}

var length = jsonrpc.NewMethod("length", func(_ context.Context, p struct {
	Text string `json:"text"`
}) (int, error) {
	return len(p.Text), nil
})

// Each message takes its calls from the rate of its client. One too many is answered with an error that names its id,
// and nothing is read for a while.
func TestMessagesAreRateLimited(t *testing.T) {
	d := &desk{calls: 3}
	serve(t, Config{Ticket: d.ticket}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		if a := c.call("length", "abc"); string(a.Result) != "3" {
			t.Errorf("got %+v", a)
		}
		batch := `[{"jsonrpc":"2.0","id":1,"method":"length","params":["a"]},{"jsonrpc":"2.0","id":2,"method":"length","params":["b"]}]`
		if err := c.ws.Write(t.Context(), websocket.MessageText, []byte(batch)); err != nil {
			t.Fatal(err)
		}
		if _, text, err := c.ws.Read(t.Context()); err != nil || !strings.Contains(string(text), `"id":2,"result":1`) {
			t.Errorf("got %s, error %v", text, err)
		}
		a := c.call("length", "abc")
		if want := jsonrpc.NewError(jsonrpc.CodeLimit, "", "reason", "rate"); a.Error == nil || !a.Error.Is(want) ||
			a.Error.Data["retryAfterSeconds"] != 3.0 {
			t.Errorf("got %+v", a)
		}
		d.mu.Lock()
		d.calls = 1
		d.mu.Unlock()
		start := time.Now()
		if a := c.call("length", "abc"); string(a.Result) != "3" || time.Since(start) < refusedPause {
			t.Errorf("%+v after %v", a, time.Since(start))
		}
		c.close()
		synctest.Wait()
		if d.released != 5 { // tickets of four messages, and of one that did not arrive
			t.Errorf("%d tickets released", d.released)
		}
	}, length)
}

// A large message reserves memory. What it does not need is released when it is read, and the rest when it is answered.
// Without free memory, the client is asked to retry.
func TestMessagesTakeMemory(t *testing.T) {
	const limit = 100 << 10
	d := &desk{calls: 100, bytes: limit}
	serve(t, Config{Ticket: d.ticket, MaxRequestBytes: limit}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		large := strings.Repeat("x", 2*unreservedBytes)
		if a := c.call("length", large); string(a.Result) != "32768" {
			t.Errorf("got %+v", a)
		}
		synctest.Wait()
		if d.bytes != limit {
			t.Errorf("%d bytes are left, want %d", d.bytes, limit)
		}
		d.bytes = limit - 1
		if a := c.call("length", "small"); string(a.Result) != "5" {
			t.Errorf("got %+v", a)
		}
		closed := make(chan websocket.CloseError)
		go func() { closed <- c.reason() }()
		// The close may arrive before the message has been sent.
		_ = c.ws.Write(t.Context(), websocket.MessageText, []byte(`["`+large+`"]`))
		if got := <-closed; got.Code != websocket.StatusTryAgainLater {
			t.Errorf("error %+v, want Code %v", got, websocket.StatusTryAgainLater)
		}
	}, length)
}

// A text that is not UTF-8 ends the connection with RFC 6455's code for that, in small messages and in large ones.
func TestTextIsUTF8(t *testing.T) {
	d := &desk{calls: 100, bytes: 5 << 20}
	serve(t, Config{Ticket: d.ticket}, func(t *testing.T, s *site) {
		for _, text := range []string{"\xc3\x28", strings.Repeat(" ", 2*unreservedBytes) + "\xc3\x28"} {
			c := s.connect(t)
			closed := make(chan websocket.CloseError)
			go func() { closed <- c.reason() }()
			_ = c.ws.Write(t.Context(), websocket.MessageText, []byte(text))
			if got := <-closed; got.Code != websocket.StatusInvalidFramePayloadData {
				t.Errorf("%d bytes: got %+v, want code %d", len(text), got, websocket.StatusInvalidFramePayloadData)
			}
			c.close()
		}
	}, length)
}

// A message that never ends is cut off, and its memory is released.
func TestMessagesEndInTime(t *testing.T) {
	d := &desk{calls: 100, bytes: 5 << 20}
	const timeout = 45 * time.Second // at a time when no ping is due
	serve(t, Config{Ticket: d.ticket, MessageTimeout: timeout}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		w, err := c.ws.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := w.Write([]byte(strings.Repeat(" ", 2*unreservedBytes))); err != nil {
			t.Fatal(err)
		}
		if closed := c.reason(); closed.Code != websocket.StatusPolicyViolation ||
			closed.Reason != "the message took too long" {
			t.Errorf("error %+v", closed)
		}
		if took := time.Since(start); took < timeout || took > 2*timeout {
			t.Errorf("after %v", took)
		}
		synctest.Wait()
		if d.bytes != 5<<20 {
			t.Errorf("%d bytes are left", d.bytes)
		}
	}, length)
}

// The filter of a subscription is charged to its client's memory until the subscription ends.
func TestFiltersTakeMemory(t *testing.T) {
	const accounts, limit = 64, subscriptionBytes + accountBytes*64
	d := &desk{calls: 100, bytes: limit}
	serve(t, Config{Ticket: d.ticket}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		names := make([]string, accounts)
		for i := range names {
			names[i] = string(rune('0' + i))
		}
		filter := map[string]any{"accounts": names}
		left := func(want int) {
			t.Helper()
			synctest.Wait()
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.bytes != want {
				t.Errorf("%d bytes are left, want %d", d.bytes, want)
			}
		}
		for i := range 2 {
			c.subscribe("payments", filter)
			next[api.PaymentPage](c) // the page with the starting point
			left(limit / 2 * (1 - i))
		}
		if a := c.call("svc_subscribe", "payments", filter); a.Error == nil || !a.Error.Is(api.ErrBusy) {
			t.Errorf("a third one: %+v, want busy", a)
		}
		if a := c.call("svc_unsubscribe", "0x1"); string(a.Result) != "true" {
			t.Errorf("unsubscribe: got %+v", a)
		}
		left(limit / 2)
		c.close()
		left(limit)
	})
}
