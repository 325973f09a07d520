// Package push serves JSON-RPC over WebSocket (RFC 6455), and subscriptions to blocks, events, payments, pending
// transactions, proofs and the sync status.
//
// A subscription is a cursor and not a queue: it pulls what comes next from the chain, or from the ring of pending
// transactions, and writes it. So history and what is live are one path, and a client that reads slowly costs no
// memory. Nothing that makes blocks or accepts transactions ever waits for a client: they only wake who waits for them.
//
// What the newest blocks have is rendered once for all, in a cache. Who is further behind reads an index, or one block
// after the other, a bounded piece in each turn of its client. A connection has at most one such piece in memory: it
// first waits until nothing else of the connection is being written.
package push

import (
	"bufio"
	"cmp"
	"context"
	"log/slog"
	"net"
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

// Chain tells how far the chain is: a *chain.Store.
type Chain interface {
	Head() types.SignedHeader
	HeadHash() types.BlockHash
	OldestHeight() types.Height
	Header(types.Height) (types.SignedHeader, error)
	BlockPayments(types.Height) (types.Header, []chain.Payment, error)
	// WaitHead returns when the head is another block than the one seen.
	WaitHead(ctx context.Context, seen types.BlockHash) error
}

// Calls answers messages: a *jsonrpc.Server.
type Calls interface {
	// Append appends to dst what answers a body of JSON-RPC.
	Append(ctx context.Context, body, dst []byte) []byte
}

// Source renders what is sent: a *rpc.Feed.
type Source interface {
	// Block renders a block with hashes; nil where there is none.
	Block(types.Height) (*api.Block, error)
	// BlockHeader renders a block without its transactions; nil where there is none.
	BlockHeader(types.Height) (*api.Block, error)
	// TransactionCount is how many transactions a block has. It is found without reading them.
	TransactionCount(types.Height) (int, error)
	// Events are all events of a block in their order; nil where there is none.
	Events(types.Height) ([]api.Event, error)
	// EventPiece reads a bounded piece of the events that a filter asks for, after a position, from an index of them: at
	// most so many bytes of JSON, but at least one if there is one.
	EventPiece(
		ctx context.Context, f *api.SubscriptionFilter, after chain.Position, bytes int,
	) ([]api.Event, chain.EventsEnd, error)
	// EventPosition is what an event's cursor stands for, if that is in the chain.
	EventPosition(cursor string) (chain.Position, error)
	EventProgress(height types.Height, block types.BlockHash) api.EventProgress
	// PaymentFilter reads what a subscription to payments asks for, and the cursor that it goes on from, nil of none.
	PaymentFilter(api.SubscriptionFilter) (chain.PaymentFilter, *chain.PaymentCursor, error)
	Payments(context.Context, chain.PaymentFilter, chain.PaymentRange) (api.PaymentPage, chain.PaymentsEnd, error)
	Payment(p *chain.Payment, of *types.Header, hash types.BlockHash) api.Payment
	PaymentPage(payments []api.Payment, end chain.PaymentsEnd) api.PaymentPage
	SyncStatus() api.SyncStatus
	// ProofNotice tells of a block's proof; waiting that there is none yet, and neither that there will be none.
	ProofNotice(types.Height) (notice *api.ProofNotice, waiting bool, err error)
	// RangeProofs says which ranges of blocks have a proof.
	RangeProofs() ([]api.RangeProofs, error)
	// ProofsChanged is closed when the next proof is there.
	ProofsChanged() <-chan struct{}
}

// Config is what a Server serves, and its limits; zero limits are the defaults.
type Config struct {
	Chain   Chain
	Calls   Calls
	Source  Source
	Pending *Pending
	Log     *slog.Logger

	// CheckOrigin decides on a handshake by its Origin header. The default lets browsers in from the node's own host
	// only; programs send no Origin.
	CheckOrigin func(*http.Request) bool

	// Ticket returns what a message may cost, of the request that its connection began with. The default lets everything
	// in.
	Ticket func(of *request.Request) Ticket

	MaxConnections  int           // 10,000
	MaxRequestBytes int           // of one message: 5 MiB
	MaxCalls        int           // messages of one connection that are answered at once: 4
	MessageTimeout  time.Duration // from the first byte of a message to its end: 1 min
	WriteTimeout    time.Duration // that one message may take until the client is dropped: 20 s
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

// Ticket is what one message may cost: a *front.Ticket. It is released when the message is answered.
type Ticket interface {
	jsonrpc.Quota
	// Take takes a call of a message from its client's rate. It takes none and returns how long to wait where there is none
	// left.
	Take() time.Duration
	// Reserve takes memory for a message of so many bytes, and reports whether there was some in time.
	Reserve(ctx context.Context, bytes int) bool
	// Shrink gives back what a message takes less.
	Shrink(bytes int)
	// Waits runs what waits for the client to send or to read. Meanwhile others may take the ticket's memory, which ends the
	// connection; it reports whether nobody did.
	Waits(f func()) bool
	// Closing says that the connection is being closed: little is read of the client any more.
	Closing()
	// Begin waits for a turn for long work of this client. It fails with the context's cause, or when the client has gone.
	// End ends the turn, and charges the client for the time that it took.
	Begin(ctx context.Context) error
	End()
	// Yield ends the turn and waits for the next one if the present one has lasted long enough and others wait. It is
	// called between pieces of work of at most some milliseconds.
	Yield(ctx context.Context) error
	// Hold waits for so many bytes of memory, of the client's share of it first.
	Hold(ctx context.Context, bytes int64) error
	// Spend charges the client's rate for bytes that were written.
	Spend(bytes int)
	// Release gives back all memory.
	Release()
}

// free is a ticket of a server without limits.
type free struct{}

func (free) Room(bytes int) int                { return bytes }
func (free) Charge(int)                        {}
func (free) Take() time.Duration               { return 0 }
func (free) Reserve(context.Context, int) bool { return true }
func (free) Shrink(int)                        {}
func (free) Waits(f func()) bool               { f(); return true }
func (free) Begin(context.Context) error       { return nil }
func (free) End()                              {}
func (free) Yield(context.Context) error       { return nil }
func (free) Hold(context.Context, int64) error { return nil }
func (free) Spend(int)                         {}
func (free) Release()                          {}
func (free) Closing()                          {}

// Stats are a Server's numbers.
type Stats struct {
	Clients       uint64 // connections at present
	Subscriptions uint64 // of them
	Dropped       uint64 // connections that were closed because their client did not read, ever
	Displaced     uint64 // connections that were closed to make way for those of other sources, ever
	Sent          uint64 // notifications, ever
}

// Server is the http.Handler of the WebSocket endpoint.
type Server struct {
	config Config
	cache  *cache

	subscriptions, dropped, displaced, sent atomic.Uint64

	mu          sync.Mutex // guards what follows
	closing     bool
	connections map[*connection]struct{}
	crowds      crowds         // of those that were not displaced
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

// ServeHTTP makes a WebSocket connection of a request and serves it until it ends. It refuses with 403 (the origin),
// 426 (no handshake) and 503 (too many connections, or shutting down).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if check := s.config.CheckOrigin; check != nil && !check(r) {
		http.Error(w, "The origin is not allowed.", http.StatusForbidden)
		return
	}
	// The request's context ends with the handshake; whom it came from does not change.
	c := newConnection(context.WithoutCancel(r.Context()), s, request.Of(r.Context()))
	if !s.add(c) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "The node takes no more connections at present.", http.StatusServiceUnavailable)
		return
	}
	defer s.remove(c)
	ws, err := websocket.Accept(narrowed{w}, r, &websocket.AcceptOptions{InsecureSkipVerify: s.config.CheckOrigin != nil})
	if err != nil {
		c.cancel()
		return // Accept has answered
	}
	c.serve(ws)
}

// sendBuffer is how much the kernel keeps, in bytes, of what a client has not read; by itself it may keep 4 MB for
// each.
const sendBuffer = 128 << 10

// narrowed bounds the send buffer of a connection that is taken over.
type narrowed struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (n narrowed) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffered, err := http.NewResponseController(n.ResponseWriter).Hijack()
	for inner := c; err == nil; {
		if tcp, ok := inner.(interface{ SetWriteBuffer(bytes int) error }); ok {
			_ = tcp.SetWriteBuffer(sendBuffer) // fails where the connection has ended, as all else will
			break
		}
		wrapper, ok := inner.(interface{ NetConn() net.Conn }) // as a *tls.Conn is
		if !ok {
			break
		}
		inner = wrapper.NetConn()
	}
	return c, buffered, err
}

// add takes a connection in, instead of another one where there are too many, unless its source has its share.
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
		go displaced.close(websocket.StatusTryAgainLater, "others need the connection: this address has most")
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

// Shutdown refuses new connections, closes those that there are as going away (1001), and returns when they have ended.
// When ctx ends first they are cut, and the error is the context's.
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
