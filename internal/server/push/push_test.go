package push

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// TestThousandSubscribers has 1,000 subscribers, of whom 100 stop reading. Blocks are made without waiting for anyone,
// the others get every one in order, and the 100 are closed with the reason.
func TestThousandSubscribers(t *testing.T) {
	const subscribers, stopping, blocks = 1000, 100, 30
	serve(t, Config{}, func(t *testing.T, s *site) {
		var reading, stopped sync.WaitGroup
		resume, clients := make(chan struct{}), make([]*client, subscribers)
		for i := range clients {
			c := s.connect(t)
			clients[i] = c
			c.subscribe("newBlocks")
			if i >= stopping {
				reading.Go(func() { c.heights(1, blocks) })
				continue
			}
			stopped.Go(func() {
				c.heights(1, 2)
				<-resume
				closed := c.reason()
				if closed.Code != websocket.StatusPolicyViolation ||
					!regexp.MustCompile(`^slow reader: 28 messages behind$`).MatchString(closed.Reason) {
					t.Errorf("closed with %v", closed)
				}
			})
		}
		begun := time.Now()
		for range blocks {
			s.chain.append()
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("making blocks waited for %s, want 0", took)
		}
		reading.Wait()
		if took := time.Since(begun); took != 0 {
			t.Errorf("those who read waited for %s, want 0", took)
		}
		pass(s.config.WriteTimeout)
		if stats := s.Stats(); stats.Dropped != stopping || stats.Sent < subscribers*2 {
			t.Errorf("got %+v", stats)
		}
		close(resume)
		stopped.Wait()
		s.chain.append()
		for _, c := range clients[stopping:] {
			c.heights(blocks+1, blocks+1)
			c.close()
		}
	})
}

// TestStuckReaderIsCut has a client that stops reading forever: its connection ends anyway.
func TestStuckReaderIsCut(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		c.subscribe("newBlocks", map[string]any{"from_block": 0})
		pass(s.config.WriteTimeout + 10*time.Second) // the time limit of the close handshake
		if stats := s.Stats(); stats.Clients != 0 || stats.Dropped != 1 {
			t.Errorf("got %+v, want Clients 0 and Dropped 1", stats)
		}
		c.close()
	})
}

func TestResumeSeesEachHeightOnce(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		for range 70 {
			s.chain.append()
		}
		at := types.Height(0)
		for range 5 {
			c := s.connect(t)
			c.subscribe("newBlocks", map[string]any{"from_block": at})
			s.chain.append() // while the history is being sent
			c.heights(at, at+14)
			at += 15
			c.close()
		}
	})
}

func TestSubscriberGoesOnAfterTheNewHead(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.subscribe("newBlocks")
		for range 5 {
			s.chain.append()
		}
		c.heights(1, 5)
		s.chain.revert(2)
		synctest.Wait()
		s.chain.append()
		s.chain.append()
		c.heights(3, 4)
	})
}

// TestHeadersOnly has two subscribers to the same blocks, one of which wants no transactions.
func TestHeadersOnly(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		headers, whole := s.connect(t), s.connect(t)
		defer headers.close()
		defer whole.close()
		headers.subscribe("newBlocks", map[string]any{"from_block": 0, "headers_only": true})
		whole.subscribe("newBlocks", map[string]any{"from_block": 0, "headers_only": false})
		s.chain.append()
		for height := range types.Height(2) {
			for c, count := range map[*client]uint64{headers: 1, whole: 0} {
				if block := next[api.Block](c); block.Height != height || block.TxCount != count {
					t.Errorf("block %d with %d transactions, want %d with %d", block.Height, block.TxCount, height, count)
				}
			}
		}
	})
}

func event(contract byte, name string, topics ...types.Digest) api.Event {
	e := api.Event{ContractID: types.ContractID{contract}, EventName: name}
	for _, topic := range topics {
		e.Topics = append(e.Topics, topic[:])
	}
	return e
}

func TestEvents(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		s.chain.append(
			event(1, "Transfer", types.Digest{1}, types.Digest{2}), event(2, "Transfer", types.Digest{1}, types.Digest{3}),
		)
		s.chain.append()
		s.chain.append(event(1, "Approval", types.Digest{4}), event(1, "Transfer", types.Digest{1}, types.Digest{3}))
		for name, tc := range map[string]struct {
			filter map[string]any
			want   []string // cursors
		}{
			"all":                {map[string]any{"from_block": 0}, []string{"1/0", "1/1", "3/0", "3/1", "4/0"}},
			"new ones":           {nil, []string{"4/0"}},
			"of a contract":      {map[string]any{"from_block": 1, "contract_id": types.ContractID{2}}, []string{"1/1"}},
			"of a name":          {map[string]any{"from_block": 0, "event_name": "Approval"}, []string{"3/0"}},
			"with topics":        {map[string]any{"from_block": 0, "topics": []any{nil, types.Digest{3}}}, []string{"1/1", "3/1"}},
			"after a cursor":     {map[string]any{"cursor": "1/1"}, []string{"3/0", "3/1", "4/0"}},
			"after one in block": {map[string]any{"cursor": "3/0", "contract_id": types.ContractID{1}}, []string{"3/1", "4/0"}},
		} {
			if height := s.chain.Head().Header.Height; height > 3 {
				s.chain.revert(3)
			}
			c := s.connect(t)
			if tc.filter == nil {
				c.subscribe("events")
			} else {
				c.subscribe("events", tc.filter)
			}
			s.chain.append(event(1, "Later"))
			for _, want := range tc.want {
				if got := next[api.Event](c); got.Cursor != want {
					t.Errorf("%s: event %s, want %s", name, got.Cursor, want)
				}
			}
			c.close()
		}
	})
}

// TestEventsOfACrowdedBlock are read from an index, piece by piece: the content rendered for all subscribers is
// bounded.
func TestEventsOfACrowdedBlock(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.subscribe("events", map[string]any{"contract_id": types.ContractID{2}})
		crowd := make([]api.Event, sharedEvents+1)
		for i := range crowd {
			crowd[i] = event(1, "Transfer")
		}
		crowd[7], crowd[sharedEvents] = event(2, "First"), event(2, "Last")
		s.chain.append(crowd...)
		s.chain.append(event(2, "Next"))
		for _, want := range []string{"First", "Last", "Next"} {
			if got := next[api.Event](c); got.EventName != want {
				t.Fatalf("got %s, want %s", got.EventName, want)
			}
		}
		if size := s.cache.bytes; size > sharedEvents*eventOverhead/10 {
			t.Errorf("%d bytes are shared", size)
		}
	})
}

func TestPendingTransactions(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		s.config.Pending.Add(types.TxID{1}) // before any request
		c := s.connect(t)
		defer c.close()
		c.subscribe("newPendingTransactions")
		for i := byte(2); i < 200; i++ {
			s.config.Pending.Add(types.TxID{i})
		}
		for i := byte(2); i < 200; i++ {
			if got := next[types.TxID](c); got != (types.TxID{i}) {
				t.Fatalf("got %s, want %d", got, i)
			}
		}
	})
}

// TestPendingTransactionsThatAreLost has a client that falls behind the ring.
func TestPendingTransactionsThatAreLost(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.subscribe("newPendingTransactions")
		for i := range pendingKept + 2*pendingBatch {
			s.config.Pending.Add(types.TxID{byte(i), byte(i >> 8), byte(i >> 16)})
			if i == 0 {
				synctest.Wait() // the first is being written, but cannot be finished
			}
		}
		closed := c.reason()
		if closed.Code != websocket.StatusPolicyViolation ||
			!regexp.MustCompile(`^slow reader: \d+ messages behind$`).MatchString(closed.Reason) {
			t.Errorf("closed with %v", closed)
		}
	})
}

func TestSyncStatus(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		s.chain.setState(api.StateProducing)
		c := s.connect(t)
		defer c.close()
		c.subscribe("syncStatus")
		if got := next[api.SyncStatus](c); got.State != api.StateProducing || got.LocalHeight != 0 {
			t.Errorf("first %+v", got)
		}
		begun := time.Now()
		for range 10 {
			s.chain.append()
		}
		if got := next[api.SyncStatus](c); got.LocalHeight != 10 || time.Since(begun) != statusInterval {
			t.Errorf("then %+v after %s", got, time.Since(begun))
		}
		pass(5 * statusInterval)
		s.chain.setState(api.StateHalted)
		if got := next[api.SyncStatus](c); got.State != api.StateHalted {
			t.Errorf("at last %+v", got)
		}
	})
}

// TestRangeProofs sends the ranges at once and when they change, not for each proof.
func TestRangeProofs(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.subscribe("rangeProofs")
		if got := next[[]api.RangeProofs](c); got == nil || len(got) != 0 {
			t.Errorf("first %+v", got)
		}
		for range 40 {
			s.chain.append()
		}
		for _, step := range []struct{ proven, newest types.Height }{{17, 16}, {31, 0}, {35, 32}} {
			s.chain.prove(step.proven)
			pass(5 * statusInterval)
			if step.newest == 0 {
				continue
			}
			if got := next[[]api.RangeProofs](c); len(got) != 1 || got[0].Newest != step.newest {
				t.Errorf("with %d proofs: got %+v", step.proven, got)
			}
		}
	})
}

func TestRefusedSubscriptions(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		s.chain.append()
		s.chain.append()
		s.chain.oldest = 1
		c := s.connect(t)
		defer c.close()
		for name, tc := range map[string]struct {
			params []any
			want   *jsonrpc.Error
		}{
			"no topic":       {nil, jsonrpc.NewError(-32602, "", "reason", "missing")},
			"unknown topic":  {[]any{"proof"}, jsonrpc.NewError(-32602, "", "reason", "unknown_topic")},
			"above the head": {[]any{"newBlocks", map[string]any{"from_block": 4}}, api.ErrAboveHead},
			"pruned":         {[]any{"newBlocks", map[string]any{"from_block": 0}}, api.ErrPruned},
			"events pruned":  {[]any{"events", map[string]any{"cursor": "0/0"}}, api.ErrPruned},
			"bad cursor":     {[]any{"events", map[string]any{"cursor": "x"}}, api.ErrBadCursor},
			"cursor and height": {
				[]any{"events", map[string]any{"cursor": "ba", "from_block": 1}}, jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"contract of blocks": {
				[]any{"newBlocks", map[string]any{"contract_id": types.ContractID{}}},
				jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"height of pending": {
				[]any{"newPendingTransactions", map[string]any{"from_block": 1}}, jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"unknown member": {
				[]any{"events", map[string]any{"to_block": 1}}, jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"name of sync status": {
				[]any{"syncStatus", map[string]any{"event_name": ""}}, jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"topics of newBlocks": {
				[]any{"newBlocks", map[string]any{"topics": []any{}}}, jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"cursor of newBlocks": {
				[]any{"newBlocks", map[string]any{"cursor": "ba"}}, jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"headers of proofs": {
				[]any{"proofs", map[string]any{"headers_only": true}}, jsonrpc.NewError(-32602, "", "reason", "unknown"),
			},
			"many topics": {
				[]any{"events", map[string]any{"topics": make([]any, 5)}}, jsonrpc.NewError(-32602, "", "reason", "too_many"),
			},
			"a long name": {
				[]any{"events", map[string]any{"event_name": strings.Repeat("x", 65)}},
				jsonrpc.NewError(-32602, "", "reason", "too_long"),
			},
			"topics of wrong type": {
				[]any{"events", map[string]any{"topics": "0x"}}, jsonrpc.NewError(-32602, "", "reason", "wrong_type"),
			},
		} {
			if a := c.call("svc_subscribe", tc.params...); !errors.Is(a.Error, tc.want) {
				t.Errorf("%s: %+v, want %v %v", name, a.Error, tc.want, tc.want.Data)
			}
		}
		if stats := s.Stats(); stats.Subscriptions != 0 {
			t.Errorf("got %+v, want Subscriptions 0", stats)
		}
	})
}

func TestSubscriptionsOfAConnection(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c, other := s.connect(t), s.connect(t)
		defer c.close()
		defer other.close()
		for i := range api.MaxSubscriptions {
			if a := c.call("svc_subscribe", "newBlocks"); string(a.Result) != strconv.Quote(api.Quantity(i+1).String()) {
				t.Errorf("subscription %d: got %+v", i, a)
			}
		}
		if a := c.call("svc_subscribe", "newBlocks"); !errors.Is(a.Error, api.ErrSubscriptions) {
			t.Errorf("one too many: got %+v", a)
		}
		if a := other.call("svc_unsubscribe", "0x1"); string(a.Result) != "false" {
			t.Errorf("another's: got %+v", a)
		}
		for i := range api.MaxSubscriptions - 1 {
			if a := c.call("svc_unsubscribe", api.Quantity(i+1)); string(a.Result) != "true" {
				t.Errorf("unsubscribe %d: got %+v", i+1, a)
			}
		}
		if a := c.call("svc_unsubscribe", "0x1"); string(a.Result) != "false" {
			t.Errorf("twice: got %+v", a)
		}
		s.chain.append()
		if a, err := c.read(); err != nil || a.Params.Subscription != "0x10" {
			t.Errorf("got %+v, error %v, want Subscription 0x10", a, err)
		}
		if stats := s.Stats(); stats.Subscriptions != 1 || stats.Clients != 2 {
			t.Errorf("got %+v, want Subscriptions 1 and Clients 2", stats)
		}
	})
}

// TestCalls makes more calls at once than are answered concurrently: the answers come as they are ready.
func TestCalls(t *testing.T) {
	// Made in the bubble, before the handlers are called.
	var running *sync.WaitGroup
	var release chan struct{}
	wait := jsonrpc.NewMethod("wait", func(context.Context, struct{}) (bool, error) {
		running.Done()
		<-release
		return true, nil
	})
	quick := jsonrpc.NewMethod("quick", func(context.Context, struct{}) (bool, error) { return true, nil })
	serve(t, Config{MaxCalls: 4}, func(t *testing.T, s *site) {
		running, release = new(sync.WaitGroup), make(chan struct{})
		running.Add(4)
		c := s.connect(t)
		defer c.close()
		for id := range 3 {
			c.write("wait", id)
		}
		c.write("quick", 3)
		if a, err := c.read(); err != nil || a.ID != 3 {
			t.Errorf("first %+v, error %v, want ID 3", a, err)
		}
		c.write("wait", 4)
		running.Wait()
		c.write("quick", 5) // read, but not answered while four others wait
		synctest.Wait()
		close(release)
		seen := map[int]bool{}
		for range 5 {
			a, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			seen[a.ID] = true
		}
		if len(seen) != 5 {
			t.Errorf("answers to %v", seen)
		}
	}, wait, quick)
}

func TestShutdownSaysGoingAway(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		c := s.connect(t)
		c.subscribe("newBlocks")
		var reading sync.WaitGroup
		reading.Go(func() {
			if closed := c.reason(); closed.Code != websocket.StatusGoingAway {
				t.Errorf("closed with %v", closed)
			}
		})
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		reading.Wait()
		if _, response, err := websocket.Dial(
			t.Context(), "ws://node/ws", &websocket.DialOptions{HTTPClient: s.http},
		); err == nil || response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("afterwards: error %v", err)
		}
	})
}

// TestSilentPeer has one client that reads, and so answers pings, and one that does not.
func TestSilentPeer(t *testing.T) {
	serve(t, Config{PingInterval: time.Second, PongTimeout: time.Second}, func(t *testing.T, s *site) {
		alive, silent := s.connect(t), s.connect(t)
		var reading sync.WaitGroup
		reading.Go(func() { _, _ = alive.read() })
		pass(time.Minute)
		if stats := s.Stats(); stats.Clients != 1 {
			t.Errorf("got %+v, want Clients 1", stats)
		}
		s.chain.append()
		alive.close()
		silent.close()
		reading.Wait()
	})
}

func TestHandshake(t *testing.T) {
	allowed := func(r *http.Request) bool { return r.Header.Get("Origin") == "http://good" }
	dial := func(t *testing.T, s *site, origin string) int {
		ws, response, err := websocket.Dial(
			t.Context(), "ws://node/ws", &websocket.DialOptions{HTTPClient: s.http, HTTPHeader: http.Header{"Origin": {origin}}},
		)
		if err == nil {
			_ = ws.CloseNow()
		}
		synctest.Wait()
		return response.StatusCode
	}
	serve(t, Config{}, func(t *testing.T, s *site) {
		if status := dial(t, s, "http://node"); status != http.StatusSwitchingProtocols {
			t.Errorf("its own host: got %d, want %d", status, http.StatusSwitchingProtocols)
		}
		if status := dial(t, s, "http://good"); status != http.StatusForbidden {
			t.Errorf("another host: got %d, want %d", status, http.StatusForbidden)
		}
	})
	serve(t, Config{CheckOrigin: allowed, MaxConnections: 1}, func(t *testing.T, s *site) {
		if status := dial(t, s, "http://bad"); status != http.StatusForbidden {
			t.Errorf("a bad host: got %d, want %d", status, http.StatusForbidden)
		}
		if status := dial(t, s, "http://good"); status != http.StatusSwitchingProtocols {
			t.Errorf("a good host: got %d, want %d", status, http.StatusSwitchingProtocols)
		}
	})
	serve(t, Config{MaxConnections: 1}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		if status := dial(t, s, "http://node"); status != http.StatusServiceUnavailable {
			t.Errorf("one too many: got %d, want %d", status, http.StatusServiceUnavailable)
		}
	})
}

// When all connections are in use, the source with the most makes way, so that no source keeps others out.
func TestTheLargestCrowdMakesWay(t *testing.T) {
	serve(t, Config{MaxConnections: 5}, func(t *testing.T, s *site) {
		connect := func(source string) *client {
			ws, response, err := websocket.Dial(t.Context(), "ws://node/ws", &websocket.DialOptions{
				HTTPClient: s.http, HTTPHeader: http.Header{"Source": {source}},
			})
			if err != nil {
				if response == nil || response.StatusCode != http.StatusServiceUnavailable {
					t.Fatalf("%s: error %v", source, err)
				}
				return nil
			}
			return &client{t, ws}
		}
		of := map[string][]*client{}
		for _, step := range []struct{ source, displaces string }{
			{"a", ""}, {"a", ""}, {"a", ""}, {"a", ""}, {"a", ""}, {"a", "refused"}, {"b", "a"}, {"b", "a"}, {"b", "refused"},
			{"c", "a"}, {"c", "refused"},
		} {
			c := connect(step.source)
			if refused := c == nil; refused != (step.displaces == "refused") {
				t.Fatalf("%s: refused is %v, want %v", step.source, refused, !refused)
			}
			if c == nil {
				continue
			}
			defer c.close()
			of[step.source] = append(of[step.source], c)
			if left := of[step.displaces]; step.displaces != "" {
				newest := left[len(left)-1]
				if got := newest.reason(); got.Code != websocket.StatusTryAgainLater {
					t.Errorf("%s for %s: closed with %d, want %d", step.displaces, step.source, got.Code, websocket.StatusTryAgainLater)
				}
				of[step.displaces] = left[:len(left)-1]
			}
			synctest.Wait()
		}
		if got := s.Stats().Displaced; got != 3 {
			t.Errorf("%d made way, want 3", got)
		}
	})
}

func TestMessagesThatAreNone(t *testing.T) {
	for name, tc := range map[string]struct {
		kind websocket.MessageType
		size int
		want websocket.StatusCode
	}{
		"binary":    {websocket.MessageBinary, 5, websocket.StatusUnsupportedData},
		"too large": {websocket.MessageText, 1001, websocket.StatusMessageTooBig},
	} {
		serve(t, Config{MaxRequestBytes: 1000}, func(t *testing.T, s *site) {
			c := s.connect(t)
			defer c.close()
			go func() { _ = c.ws.Write(t.Context(), tc.kind, make([]byte, tc.size)) }()
			if closed := c.reason(); closed.Code != tc.want {
				t.Errorf("%s: closed with %v", name, closed)
			}
		})
	}
}

// FuzzSubscribe feeds parameters to a connection's svc_subscribe: each call is answered, and accepted ones are counted.
func FuzzSubscribe(f *testing.F) {
	for _, seed := range []string{
		`["newBlocks"]`, `["newBlocks",{"from_block":0}]`, `["events",{"topics":[null,"0x00"],"cursor":"ba"}]`,
		`["syncStatus",{}]`, `{"topic":"newPendingTransactions"}`, `["events",{"contract_id":null}]`, `[1]`, `["proof",[]]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, params string) {
		m := newMemory(t)
		s := New(Config{Chain: m, Calls: m.rpc, Source: m, Pending: NewPending()})
		c := newConnection(t.Context(), s, request.New(t.Context()))
		defer c.cancel()
		begun := c.newMessage(free{})
		body := `{"jsonrpc":"2.0","id":1,"method":"svc_subscribe","params":` + params + `}`
		if answer := m.rpc.Append(&begun.Request, []byte(body), nil); len(answer) == 0 && len(begun.begun) > 0 {
			t.Errorf("%s is not answered", params)
		}
		if len(begun.begun) != len(c.subscriptions) || s.Stats().Subscriptions != uint64(len(begun.begun)) {
			t.Errorf("%s: %d begun, %d kept", params, len(begun.begun), len(c.subscriptions))
		}
	})
}

// TestProofs announces proofs in order, skips blocks that will have none, waits for those to come, and resumes.
func TestProofs(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		for range 6 {
			s.chain.append()
		}
		s.chain.prove(3)
		c := s.connect(t)
		defer c.close()
		c.subscribe("proofs", map[string]any{"from_block": 1})
		notified := func(want types.Height) {
			t.Helper()
			if notice := next[api.ProofNotice](c); notice != (api.ProofNotice{
				Height: want, Statement: "S1", Size: uint64(want),
			}) {
				t.Errorf("%+v, want block %d", notice, want)
			}
		}
		notified(2)
		s.chain.prove(4)
		notified(4)
		s.chain.append()
		s.chain.append()
		s.chain.prove(8)
		notified(6)
		notified(8)
	})
}
