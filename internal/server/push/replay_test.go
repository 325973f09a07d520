package push

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/types"
)

// turns counts and bounds the memory of subscribers that are behind.
type turns struct {
	mu       sync.Mutex
	running  int // turns
	most     int // maximum number of bytes held at once
	held     int
	limit    int
	begun    int
	spent    int
	released chan struct{} // closed when there may be room again
}

type turnTicket struct {
	free
	*turns
	mine int
}

func (u *turns) ticket(*request.Request) Ticket { return &turnTicket{turns: u} }

func (t *turnTicket) Begin(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.begun = t.running+1, t.begun+1
	return nil
}

func (t *turnTicket) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
}

func (t *turnTicket) Hold(ctx context.Context, bytes int64) error {
	for {
		t.mu.Lock()
		if t.held == 0 || t.held+int(bytes) <= t.limit {
			t.held, t.mine = t.held+int(bytes), t.mine+int(bytes)
			t.most = max(t.most, t.held)
			t.mu.Unlock()
			return nil
		}
		released := t.released
		t.mu.Unlock()
		select {
		case <-released:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *turnTicket) Spend(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += bytes
}

func (t *turnTicket) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held, t.mine = t.held-t.mine, 0; t.released != nil {
		close(t.released)
	}
	t.released = make(chan struct{})
}

// A filter that matches nothing reads the index of events, and no block of the history.
func TestReplayWithoutMatchesReadsNoBlock(t *testing.T) {
	u := &turns{limit: 1 << 30, released: make(chan struct{})}
	serve(t, Config{Ticket: u.ticket}, func(t *testing.T, s *site) {
		const blocks = 1000
		for range blocks {
			s.chain.append(event(1, "Transfer"))
		}
		c := s.connect(t)
		defer c.close()
		for range api.MaxSubscriptions {
			c.subscribe("events", map[string]any{"from_block": 1, "event_name": "Nope"})
		}
		synctest.Wait()
		if s.chain.reads > cachedBlocks {
			t.Errorf("got %d blocks read, want at most the %d newest", s.chain.reads, cachedBlocks)
		}
		if most := api.MaxSubscriptions * (blocks/64 + 1); s.chain.pieces > most || s.chain.pieces < blocks/64 {
			t.Errorf("got %d pieces of the index, want at most %d", s.chain.pieces, most)
		}
		s.chain.append(event(1, "Nope"))
		for range api.MaxSubscriptions {
			if e := next[api.Event](c); e.BlockHeight != blocks+1 {
				t.Errorf("got an event of block %d, want %d", e.BlockHeight, blocks+1)
			}
		}
		if u.running != 0 || u.held != 0 {
			t.Errorf("got %d turns and %d bytes at the end, want none", u.running, u.held)
		}
	})
}

// subscribeTwice makes two subscriptions to old blocks at once.
func (c *client) subscribeTwice() {
	c.t.Helper()
	batch := `[{"jsonrpc":"2.0","id":1,"method":"svc_subscribe","params":["newBlocks",{"from_block":1}]},` +
		`{"jsonrpc":"2.0","id":2,"method":"svc_subscribe","params":["newBlocks",{"from_block":1}]}]`
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, []byte(batch)); err != nil {
		c.t.Fatal(err)
	}
	if _, _, err := c.ws.Read(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// A connection that does not read has one rendered block waiting, whatever it is subscribed to, and its turn has ended.
func TestOneBlockWaitsForEachConnection(t *testing.T) {
	u := &turns{limit: 1 << 30, released: make(chan struct{})}
	serve(t, Config{Ticket: u.ticket, WriteTimeout: time.Hour, PingInterval: time.Hour}, func(t *testing.T, s *site) {
		for range 100 {
			s.chain.append()
		}
		const connections = 5
		for range connections {
			c := s.connect(t)
			defer c.close()
			c.subscribeTwice()
		}
		pass(time.Minute)
		if s.chain.reads > connections || u.most > connections*(blockMemory+hashMemory) {
			t.Errorf("got %d blocks rendered and %d bytes held, want at most one for each of %d connections",
				s.chain.reads, u.most, connections)
		}
		if u.running != 0 {
			t.Errorf("got %d turns while clients read nothing, want none", u.running)
		}
	})
}

// The subscriptions of one connection take turns, and a replay that finds no memory waits for it.
func TestReplayGoesRoundAndWaitsForMemory(t *testing.T) {
	// On one thread, so that no subscription gets many turns while the system keeps the other's thread waiting.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	u := &turns{limit: blockMemory + hashMemory, released: make(chan struct{})}
	serve(t, Config{Ticket: u.ticket}, func(t *testing.T, s *site) {
		for range 50 {
			s.chain.append()
		}
		a, b := s.connect(t), s.connect(t)
		defer a.close()
		defer b.close()
		for _, c := range []*client{a, b} {
			c.subscribeTwice()
		}
		synctest.Wait() // each connection has a block to write, and both of its subscriptions have begun
		var readers sync.WaitGroup
		for _, c := range []*client{a, b} {
			readers.Go(func() {
				came := map[string]types.Height{}
				for range 2 * 30 {
					got, err := c.read()
					if err != nil {
						t.Error(err)
						return
					}
					came[got.Params.Subscription]++
				}
				if x, y := came["0x1"], came["0x2"]; min(x, y) < 15 { // now and then the other may ask first
					t.Errorf("got %d blocks for one subscription and %d for the other, want them in turn", x, y)
				}
			})
		}
		readers.Wait()
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.most > u.limit {
			t.Errorf("got %d bytes held, want at most %d", u.most, u.limit)
		}
	})
}

// TestEventsThatAreTakenBack ends subscriptions to reverted events, even if other blocks replace theirs before the
// server checks.
func TestEventsThatAreTakenBack(t *testing.T) {
	for name, after := range map[string]int{"fewer blocks": 0, "as many": 1, "more": 2, "many more": 30} {
		t.Run(name, func(t *testing.T) {
			serve(t, Config{}, func(t *testing.T, s *site) {
				c := s.connect(t)
				c.subscribe("events", map[string]any{"from_block": 1})
				s.chain.append(event(1, "a"))
				s.chain.append(event(1, "b"))
				for range 2 {
					next[api.Event](c)
				}
				synctest.Wait()
				s.chain.revert(1)
				for range after {
					s.chain.append(event(1, "c"))
				}
				closed := c.reason()
				if closed.Code != websocket.StatusPolicyViolation || closed.Reason != "the chain was taken back" {
					t.Errorf("closed with %v, want a violation because the chain was taken back", closed)
				}
			})
		})
	}
}

// A subscription with progress reports its position while nothing matches. It can resume there even if all earlier
// blocks are pruned.
func TestEventProgress(t *testing.T) {
	serve(t, Config{}, func(t *testing.T, s *site) {
		for range 20 {
			s.chain.append()
		}
		s.chain.prune(10)
		c := s.connect(t)
		c.subscribe("events", map[string]any{"event_name": "Rare", "from_block": 11, "progress": true})
		var later api.EventProgress
		for up := types.Height(20); up <= 25; up += 5 { // in the past, and live
			for later.BlockHeight+s.quiet() <= up {
				progress := next[api.EventProgress](c)
				if progress.BlockHeight <= later.BlockHeight || progress.BlockHeight > up {
					t.Fatalf("got progress up to block %d after %d, want one up to %d", progress.BlockHeight,
						later.BlockHeight, up)
				}
				later = progress
			}
			for range 5 {
				s.chain.append()
				synctest.Wait()
			}
		}
		c.close()
		s.chain.prune(later.BlockHeight + 1)
		rare := s.chain.Head().Header.Height + 1
		s.chain.append(event(1, "Rare"))
		c = s.connect(t)
		defer c.close()
		c.subscribe("events", map[string]any{"event_name": "Rare", "cursor": later.Cursor})
		if e := next[api.Event](c); e.BlockHeight != rare {
			t.Errorf("got an event of block %d, want %d", e.BlockHeight, rare)
		}
	})
}

// The cache holds a limited number of bytes, and the newest entry of each kind; an evicted entry is not rendered again
// for all.
func TestCacheIsBounded(t *testing.T) {
	m := newMemory(t)
	made := map[types.Height]int{}
	c := newCache(m, 100, map[kind]renderer{wholeBlocks: {cachedBlocks, func(h types.Height) (any, int, error) {
		made[h]++
		return h, 40, nil
	}}})
	for range 6 {
		m.append()
	}
	for _, h := range []types.Height{1, 2, 3, 4, 5, 6, 1, 2, 6, 5} {
		got, ok, err := shared[types.Height](c, wholeBlocks, h)
		if err != nil || ok && got != h || !ok && made[h] == 0 {
			t.Errorf("block %d: got %d, %v, %v", h, got, ok, err)
		}
		if c.bytes > 100 {
			t.Errorf("after block %d: got %d bytes, want at most 100", h, c.bytes)
		}
	}
	for h := types.Height(1); h <= 6; h++ {
		if made[h] != 1 {
			t.Errorf("block %d: got rendered %d times, want once", h, made[h])
		}
	}
	if _, ok, _ := shared[types.Height](c, wholeBlocks, 6); !ok {
		t.Error("the newest block is not there, want it kept")
	}
	m.revert(5)
	if _, _, err := shared[types.Height](c, wholeBlocks, 6); !errors.Is(err, errGone) {
		t.Errorf("a block that was taken back: got %v, want errGone", err)
	}
}
