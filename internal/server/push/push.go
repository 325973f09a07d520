// Package push serves JSON-RPC over WebSocket (RFC 6455), and subscriptions to blocks, events, payments, pending
// transactions, proofs and the sync status.
//
// A subscription is a cursor, not a queue: it pulls the next item from the chain, or from the ring of pending
// transactions, and writes it. History and live data thus take the same path, and a slow reader costs no memory.
// Producers of blocks and transactions never wait for a client: they only wake the subscriptions that wait for them.
//
// Content of the newest blocks is rendered once for all subscribers, in a cache. A subscription that is further behind
// reads an index, or one block after another, a bounded piece in each turn of its client. A connection holds at most
// one such piece in memory: it renders the next only when nothing else of the connection is being written.
package push

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Chain gives access to blocks: a *chain.Store.
type Chain interface {
	Head() types.SignedHeader
	HeadHash() types.BlockHash
	OldestHeight() types.Height
	Header(types.Height) (types.SignedHeader, error)
	BlockPayments(types.Height) (types.Header, []chain.Payment, error)
	// WaitHead returns when the head is a block other than seen.
	WaitHead(ctx context.Context, seen types.BlockHash) error
}

// Calls answers messages: a *jsonrpc.Server.
type Calls interface {
	// Append appends the answer to a JSON-RPC body to dst.
	Append(ctx context.Context, body, dst []byte) []byte
}

// Source renders the content of notifications: a *rpc.Feed.
type Source interface {
	// Block renders a block with hashes; nil if there is none.
	Block(types.Height) (*api.Block, error)
	// BlockHeader renders a block without its transactions; nil if there is none.
	BlockHeader(types.Height) (*api.Block, error)
	// TransactionCount returns the number of transactions in a block, without reading them.
	TransactionCount(types.Height) (int, error)
	// Events returns all events of a block in order, or false if there are more than most; nil if there is no such block.
	Events(height types.Height, most int) (events []api.Event, all bool, err error)
	// EventPiece reads the events that match a filter, after a position, from an index. It returns at most the given
	// bytes of JSON, but at least one event if there is one.
	EventPiece(
		ctx context.Context, f *api.SubscriptionFilter, after chain.Position, bytes int,
	) ([]api.Event, chain.EventsEnd, error)
	// EventPosition returns the position that an event's cursor stands for, if it is in the chain.
	EventPosition(cursor string) (chain.Position, error)
	EventProgress(height types.Height, block types.BlockHash) api.EventProgress
	// PaymentFilter parses the filter of a subscription to payments, and the cursor to resume from; nil for none.
	PaymentFilter(api.SubscriptionFilter) (chain.PaymentFilter, *chain.PaymentCursor, error)
	Payments(context.Context, chain.PaymentFilter, chain.PaymentRange) (api.PaymentPage, chain.PaymentsEnd, error)
	Payment(p *chain.Payment, of *types.Header, hash types.BlockHash) api.Payment
	PaymentPage(payments []api.Payment, end chain.PaymentsEnd) api.PaymentPage
	SyncStatus() api.SyncStatus
	// ProofNotice returns the notice of a block's proof. It reports waiting if there is no proof yet and there may
	// still be one.
	ProofNotice(types.Height) (notice *api.ProofNotice, waiting bool, err error)
	// RangeProofs returns the ranges of blocks that have a proof.
	RangeProofs() ([]api.RangeProofs, error)
	// ProofsChanged returns a channel that is closed when the next proof arrives.
	ProofsChanged() <-chan struct{}
}

// Config holds a Server's dependencies and limits; a limit of zero stands for its default.
type Config struct {
	Chain   Chain
	Calls   Calls
	Source  Source
	Pending *Pending
	Log     *slog.Logger

	// CheckOrigin decides on a handshake by its Origin header. By default browsers may connect only from the node's own
	// host; other programs send no Origin.
	CheckOrigin func(*http.Request) bool

	// Ticket returns a ticket for a message on the connection that the request began. The default has no limits.
	Ticket func(of *request.Request) Ticket

	MaxConnections  int           // 10,000
	MaxRequestBytes int           // size of a message: 5 MiB
	MaxCalls        int           // messages of a connection that are answered concurrently: 4
	MessageTimeout  time.Duration // from the first byte of a message to its end: 1 min
	WriteTimeout    time.Duration // for one message, after which the client is dropped: 20 s
	PingInterval    time.Duration // 30 s
	PongTimeout     time.Duration // 20 s
}

func (c Config) withDefaults() Config {
	c.MaxConnections = cmp.Or(c.MaxConnections, 10_000)
	c.MaxRequestBytes = cmp.Or(c.MaxRequestBytes, 5<<20)
	c.MaxCalls = cmp.Or(c.MaxCalls, 4)
	c.MessageTimeout = cmp.Or(c.MessageTimeout, time.Minute)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 20*time.Second)
	c.PingInterval = cmp.Or(c.PingInterval, 30*time.Second)
	c.PongTimeout = cmp.Or(c.PongTimeout, 20*time.Second)
	if c.Ticket == nil {
		c.Ticket = func(*request.Request) Ticket { return free{} }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Ticket is the quota of one message: a *front.Ticket. It is released when the message is answered.
type Ticket interface {
	jsonrpc.Quota
	// Take takes a message's call from its client's rate. If no call is left, it takes none and returns how long to
	// wait.
	Take() time.Duration
	// Owe takes a call even if none is left, and returns how long to wait until it is paid.
	Owe() time.Duration
	// Reserve takes memory for a message of the given size, and reports whether it got the memory in time.
	Reserve(ctx context.Context, bytes int) bool
	// Shrink releases the surplus for a message that turned out smaller.
	Shrink(bytes int)
	// Waits runs f, which waits for the client to send or to read. Meanwhile others may take the ticket's memory, which
	// ends the connection. Waits reports whether the ticket kept its memory.
	Waits(f func()) bool
	// Gone reports whether the client has closed the connection, even if what it sent is not read yet.
	Gone() bool
	// Closing marks the connection as closing: only few more bytes are read from the client.
	Closing()
	// Begin waits for a turn for long work of this client. It fails with the context's cause, or if the client has
	// gone. End ends the turn and charges the client for the time used.
	Begin(ctx context.Context) error
	End()
	// Yield ends the turn and waits for the next if the present one has lasted long enough and others wait. It must be
	// called between pieces of work of a few milliseconds.
	Yield(ctx context.Context) error
	// Hold waits for the given bytes of memory, first within the client's share.
	Hold(ctx context.Context, bytes int64) error
	// Spend charges the client's rate for bytes that were read or written.
	Spend(bytes int)
	// Release releases all memory.
	Release()
}

// free is the ticket of a server without limits.
type free struct{}

func (free) Room(bytes int) int                { return bytes }
func (free) Charge(int)                        {}
func (free) Take() time.Duration               { return 0 }
func (free) Owe() time.Duration                { return 0 }
func (free) Reserve(context.Context, int) bool { return true }
func (free) Shrink(int)                        {}
func (free) Waits(f func()) bool               { f(); return true }
func (free) Begin(context.Context) error       { return nil }
func (free) End()                              {}
func (free) Yield(context.Context) error       { return nil }
func (free) Hold(context.Context, int64) error { return nil }
func (free) Spend(int)                         {}
func (free) Release()                          {}
func (free) Gone() bool                        { return false }
func (free) Closing()                          {}

// Stats holds a Server's numbers.
type Stats struct {
	Clients       uint64 // open connections
	Subscriptions uint64 // open subscriptions
	Dropped       uint64 // connections closed because their client did not read, since the start
	Displaced     uint64 // connections closed to make way for other sources, since the start
	Sent          uint64 // notifications, since the start
}

// Server is the http.Handler of the WebSocket endpoint.
type Server struct {
	config Config
	cache  *cache

	subscriptions, dropped, displaced, sent atomic.Uint64

	mu          sync.Mutex // guards the fields below
	closing     bool
	connections map[*connection]struct{}
	crowds      crowds         // excludes displaced connections
	ended       sync.WaitGroup // one for each connection
}

// New returns a server.
func New(config Config) *Server {
	s := &Server{config: config.withDefaults(), connections: make(map[*connection]struct{})}
	s.crowds.bySource = make(map[string]*crowd)
	source := config.Source
	s.cache = newCache(config.Chain, cacheBytes, map[kind]renderer{
		wholeBlocks: {cachedBlocks, rendered(source.Block)},
		headers:     {cachedBlocks, rendered(source.BlockHeader)},
		events:      {cachedBlocks, s.renderEvents},
		payments:    {paymentBlocks, s.readPayments},
	})
	return s
}

// Stats returns the present numbers.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	clients := len(s.connections)
	s.mu.Unlock()
	return Stats{
		Clients: uint64(clients), Subscriptions: s.subscriptions.Load(), Dropped: s.dropped.Load(),
		Displaced: s.displaced.Load(), Sent: s.sent.Load(),
	}
}

// ServeHTTP upgrades a request to a WebSocket connection and serves it until it ends. It refuses requests with 403 (the
// origin is not allowed), 426 (no handshake) and 503 (too many connections, or shutting down).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if check := s.config.CheckOrigin; check != nil && !check(r) {
		http.Error(w, "The origin is not allowed.", http.StatusForbidden)
		return
	}
	// The request's context ends with the handshake; its values stay valid.
	c := newConnection(context.WithoutCancel(r.Context()), s, request.Of(r.Context()))
	if !s.add(c) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "The node accepts no more connections at present.", http.StatusServiceUnavailable)
		return
	}
	defer s.remove(c)
	ws, err := websocket.Accept(narrowed{w, c}, r, &websocket.AcceptOptions{InsecureSkipVerify: s.config.CheckOrigin != nil})
	if err != nil {
		c.cancel()
		return // Accept has answered
	}
	c.serve(ws)
}

// add registers a connection. If there are too many, another source's connection makes way, or add returns false.
func (s *Server) add(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	displaced, ok := s.crowds.add(c, s.config.MaxConnections)
	if !ok {
		return false
	}
	if displaced != nil {
		s.displaced.Add(1)
		go displaced.close(websocket.StatusTryAgainLater, "closed in favour of other clients: this address has the "+
			"most connections")
	}
	s.connections[c] = struct{}{}
	s.ended.Add(1)
	return true
}

func (s *Server) remove(c *connection) {
	s.mu.Lock()
	delete(s.connections, c)
	s.crowds.remove(c)
	s.mu.Unlock()
	s.ended.Done()
}

// Shutdown refuses new connections, closes the open ones as going away (1001), and returns when they have ended. If ctx
// ends first, it cuts them and returns the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for c := range s.connections {
		go c.close(websocket.StatusGoingAway, "the node is shutting down")
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.ended.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.connections {
		c.cancel()
	}
	s.mu.Unlock()
	<-ended
	return ctx.Err()
}
