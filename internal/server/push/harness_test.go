package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// memory is an in-memory chain, with a node's answers about it.
type memory struct {
	rpc *jsonrpc.Server

	mu      sync.Mutex
	headers []types.SignedHeader
	paid    map[types.Height][]chain.Payment
	events  map[types.Height][]api.Event
	state   api.SyncState
	oldest  types.Height
	proven  types.Height
	made    types.Gas // blocks, ever
	pages   int       // of Payments
	reads   int       // of whole blocks, and of their events
	pieces  int       // of events
	changed chan struct{}
}

func newMemory(t testing.TB, methods ...jsonrpc.Method) *memory {
	t.Helper()
	m := &memory{
		headers: make([]types.SignedHeader, 1), events: map[types.Height][]api.Event{}, changed: make(chan struct{}),
		paid: map[types.Height][]chain.Payment{},
	}
	var err error
	m.rpc, err = jsonrpc.NewServer(jsonrpc.Options{Quota: request.Quota}, append(methods,
		jsonrpc.NewMethod(api.Subscribe.Name, func(ctx context.Context, p api.SubscribeParams) (api.Quantity, error) {
			return request.Of(ctx).Subscriber.Subscribe(ctx, p)
		}),
		jsonrpc.NewMethod(api.Unsubscribe.Name, func(ctx context.Context, p api.UnsubscribeParams) (bool, error) {
			return request.Of(ctx).Subscriber.Unsubscribe(api.Quantity(p.ID))
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// append makes the next block. It does not wait for the server.
func (m *memory) append(events ...api.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.headers[len(m.headers)-1]
	h := types.SignedHeader{Header: types.Header{
		Height: last.Header.Height + 1, Parent: last.Header.Hash(), Timestamp: last.Header.Timestamp + 1,
		GasUsed: m.made, // so that the block differs from a reverted one
	}}
	m.made++
	for i := range events {
		events[i].BlockHeight, events[i].LogIndex = h.Header.Height, uint32(i)
		events[i].Cursor = fmt.Sprintf("%d/%d", h.Header.Height, i)
	}
	m.headers, m.events[h.Header.Height] = append(m.headers, h), events
	m.tell()
}

// revert removes blocks, and makes a different next one.
func (m *memory) revert(to types.Height) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.headers = append([]types.SignedHeader{}, m.headers[:to+1]...)
	m.tell()
}

// prune removes the blocks below a height.
func (m *memory) prune(oldest types.Height) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.oldest = oldest
}

func (m *memory) setState(state api.SyncState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
}

func (m *memory) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) Head() types.SignedHeader {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.headers[len(m.headers)-1]
}

func (m *memory) HeadHash() types.BlockHash { return m.Head().Header.Hash() }

func (m *memory) OldestHeight() types.Height {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.oldest
}

func (m *memory) Header(h types.Height) (types.SignedHeader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case h >= types.Height(len(m.headers)):
		return types.SignedHeader{}, chain.ErrNotFound
	case h < m.oldest:
		return types.SignedHeader{}, chain.ErrPruned
	}
	return m.headers[h], nil
}

func (m *memory) WaitHead(ctx context.Context, seen types.BlockHash) error {
	for {
		m.mu.Lock()
		hash, changed := m.headers[len(m.headers)-1].Header.Hash(), m.changed
		m.mu.Unlock()
		if hash != seen {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ProofNotice reports a proof for every even block up to proven.
func (m *memory) ProofNotice(h types.Height) (*api.ProofNotice, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case h > m.proven:
		return nil, true, nil
	case h%2 == 1:
		return nil, false, nil
	}
	return &api.ProofNotice{Height: h, Statement: api.StatementS1, Size: uint64(h)}, false, nil
}

func (m *memory) ProofsChanged() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// prove makes the proofs of all blocks up to a height.
func (m *memory) prove(to types.Height) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proven = to
	m.tell()
}

func (m *memory) TransactionCount(h types.Height) (int, error) {
	_, err := m.Header(h)
	return 1, err
}

func (m *memory) Block(h types.Height) (*api.Block, error) {
	m.mu.Lock()
	m.reads++
	m.mu.Unlock()
	header, err := m.Header(h)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	return &api.Block{Height: h, Hash: header.Header.Hash(), ParentHash: header.Header.Parent}, err
}

// BlockHeader differs from Block in its count of transactions, of which it lists none.
func (m *memory) BlockHeader(h types.Height) (*api.Block, error) {
	block, err := m.Block(h)
	if block != nil {
		block.TxCount = 1
	}
	return block, err
}

func (m *memory) Events(h types.Height, most int) ([]api.Event, bool, error) {
	if _, err := m.Header(h); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if len(m.events[h]) > most {
		return nil, false, nil
	}
	return append([]api.Event{}, m.events[h]...), true, nil
}

// EventPiece looks at 64 blocks at a time, as an index with entries for each block would.
func (m *memory) EventPiece(_ context.Context, f *api.SubscriptionFilter, after chain.Position, bytes int) (
	found []api.Event, end chain.EventsEnd, err error,
) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pieces++
	from, head := after.NextEvent(), types.Height(len(m.headers)-1)
	if from < m.oldest {
		return nil, end, chain.ErrPruned
	}
	for h := from; h <= min(head, from+63); h++ {
		for _, e := range m.events[h] {
			if h == after.Height && e.LogIndex <= after.Index || !f.Matches(&e) {
				continue
			}
			if bytes -= 1024; bytes < 0 && len(found) > 0 {
				return found, end, nil
			}
			found, end.Reached = append(found, e), chain.Position{Height: h, Index: e.LogIndex}
		}
		end.Reached = chain.EndOfEvents(h)
	}
	end.Complete = end.Reached == chain.EndOfEvents(head)
	return found, end, nil
}

func (m *memory) EventPosition(cursor string) (p chain.Position, err error) {
	if _, err := fmt.Sscanf(cursor, "%d/%d", &p.Height, &p.Index); err != nil {
		return p, api.ErrBadCursor
	}
	return p, nil
}

func (m *memory) EventProgress(h types.Height, _ types.BlockHash) api.EventProgress {
	return api.EventProgress{BlockHeight: h, Cursor: fmt.Sprintf("%d/%d", h, chain.EndOfEvents(h).Index)}
}

// pay makes the next block, in which account 0 pays the accounts with these numbers.
func (m *memory) pay(to ...byte) {
	next := m.Head().Header.Height + 1
	m.mu.Lock()
	m.paid[next] = nil
	for i, n := range to {
		m.paid[next] = append(m.paid[next], chain.Payment{
			Payment:  exec.Payment{Kind: exec.PaidByTransfer, To: types.Account{n}, Amount: types.Amount(i) + 1},
			Position: chain.Position{Height: next, Index: uint32(i)},
		})
	}
	m.mu.Unlock()
	m.append()
}

func (m *memory) BlockPayments(h types.Height) (types.Header, []chain.Payment, error) {
	header, err := m.Header(h)
	m.mu.Lock()
	defer m.mu.Unlock()
	return header.Header, m.paid[h], err
}

// PaymentFilter accepts numbers as accounts, and cursors that Payment has returned.
func (m *memory) PaymentFilter(f api.SubscriptionFilter) (chain.PaymentFilter, *chain.PaymentCursor, error) {
	filter := chain.PaymentFilter{In: true, Accounts: map[types.Account]struct{}{}}
	for _, text := range f.Accounts {
		filter.Accounts[types.Account{text[0] - '0'}] = struct{}{}
	}
	if f.Cursor == "" {
		return filter, nil, nil
	}
	after := new(chain.PaymentCursor)
	if err := json.Unmarshal([]byte(f.Cursor), after); err != nil {
		return filter, nil, api.ErrBadCursor
	}
	header, err := m.Header(after.Height)
	if err != nil || !after.IsOf(header.Header.Hash()) {
		return filter, nil, api.ErrTakenBack
	}
	return filter, after, nil
}

// Payments returns pages of two blocks.
func (m *memory) Payments(_ context.Context, f chain.PaymentFilter, in chain.PaymentRange) (
	page api.PaymentPage, end chain.PaymentsEnd, err error,
) {
	var payments []api.Payment
	for h := *in.From; h < *in.From+2; h++ {
		header, paid, err := m.BlockPayments(h)
		if err != nil {
			return page, end, err
		}
		for i := range paid {
			if f.Matches(&paid[i].Payment) && paid[i].Cursor(header.Hash()).Compare(*in.After) > 0 {
				payments = append(payments, m.Payment(&paid[i], &header, header.Hash()))
			}
		}
		end.Cursor = chain.EndOfBlock(h, header.Hash())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages++
	return m.PaymentPage(payments, end), end, nil
}

func (m *memory) Payment(p *chain.Payment, _ *types.Header, hash types.BlockHash) api.Payment {
	return api.Payment{
		BlockHeight:      p.Height,
		TransactionIndex: p.Index,
		To:               p.To,
		Amount:           api.Quantity(p.Amount),
		BlockHash:        hash,
		Cursor:           m.PaymentPage(nil, chain.PaymentsEnd{Cursor: p.Cursor(hash)}).Resume,
	}
}

func (m *memory) PaymentPage(payments []api.Payment, end chain.PaymentsEnd) api.PaymentPage {
	resume, err := json.Marshal(end.Cursor)
	if err != nil {
		panic(err) // the events contain only numbers, so this cannot fail
	}
	return api.PaymentPage{
		Payments: payments, Resume: string(resume), Height: end.Cursor.Height, Complete: end.Complete,
	}
}

func (m *memory) RangeProofs() ([]api.RangeProofs, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proven < 16 {
		return []api.RangeProofs{}, nil
	}
	return []api.RangeProofs{{Blocks: 16, Oldest: 1, Newest: m.proven / 16 * 16}}, nil
}

func (m *memory) SyncStatus() api.SyncStatus {
	head := m.Head().Header.Height
	m.mu.Lock()
	defer m.mu.Unlock()
	return api.SyncStatus{State: m.state, LocalHeight: head}
}

// pipes is a network without sockets, whose writes block until they are read.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accepted <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// site is a server on its own network. Its time is that of the bubble in which the test runs (testing/synctest): it
// passes when nothing else can happen.
type site struct {
	*Server
	chain *memory
	http  *http.Client
}

// serve runs test with a server in a bubble. After test has returned, everything that it started must end.
func serve(t *testing.T, config Config, test func(t *testing.T, s *site), methods ...jsonrpc.Method) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, methods...)
		config.Chain, config.Calls, config.Source, config.Pending = m, m.rpc, m, NewPending()
		network := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		transport := &http.Transport{DialContext: network.dial}
		s := &site{Server: New(config), chain: m, http: &http.Client{Transport: transport}}
		server := &http.Server{Handler: from(s.Server), ErrorLog: log.New(io.Discard, "", 0)}
		ended := make(chan error)
		go func() { ended <- server.Serve(network) }()
		test(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: error %v", err)
		}
		if stats := s.Stats(); stats.Clients != 0 || stats.Subscriptions != 0 {
			t.Errorf("left after the shutdown: got %+v, want Clients 0 and Subscriptions 0", stats)
		}
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

// from serves requests as if they came from the source that they name.
func from(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of := request.New(r.Context())
		of.Source = r.Header.Get("Source")
		next.ServeHTTP(w, r.WithContext(of))
	})
}

// client is the other end of a connection.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

func (s *site) connect(t testing.TB) *client {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), "ws://node/ws", &websocket.DialOptions{HTTPClient: s.http})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(4 << 20)
	return &client{t, ws}
}

func (c *client) close() { _ = c.ws.CloseNow() }

type answer struct {
	ID     int
	Result json.RawMessage
	Error  *jsonrpc.Error
	Method string
	Params struct {
		Subscription string
		Result       json.RawMessage
	}
}

func (c *client) write(method string, id int, params ...any) {
	c.t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		err = c.ws.Write(c.t.Context(), websocket.MessageText, body)
	}
	if err != nil {
		c.t.Error(err)
	}
}

func (c *client) read() (a answer, err error) {
	_, text, err := c.ws.Read(c.t.Context())
	if err != nil {
		return a, err
	}
	return a, json.NewDecoder(bytes.NewReader(text)).Decode(&a)
}

// call makes a call whose answer is the next message.
func (c *client) call(method string, params ...any) answer {
	c.t.Helper()
	c.write(method, 7, params...)
	a, err := c.read()
	if err != nil || a.ID != 7 {
		c.t.Errorf("answer %+v, error %v, want ID 7", a, err)
	}
	return a
}

func (c *client) subscribe(params ...any) {
	c.t.Helper()
	if a := c.call("svc_subscribe", params...); a.Error != nil {
		c.t.Errorf("subscribe %v: %v %v", params, a.Error, a.Error.Data)
	}
}

// next is the next notification.
func next[R any](c *client) (result R) {
	c.t.Helper()
	a, err := c.read()
	if err == nil && a.Method != "svc_subscription" {
		c.t.Errorf("got %+v", a)
	}
	if err == nil {
		err = json.Unmarshal(a.Params.Result, &result)
	}
	if err != nil {
		c.t.Error(err)
	}
	return result
}

// heights reads blocks, and checks that they have these heights, in order.
func (c *client) heights(from, to types.Height) {
	c.t.Helper()
	for h := from; h <= to; h++ {
		if block := next[api.Block](c); block.Height != h {
			c.t.Errorf("block %d, want %d", block.Height, h)
			return
		}
	}
}

// reason reads until the connection is closed, and returns the reason.
func (c *client) reason() websocket.CloseError {
	for {
		if _, err := c.read(); err != nil {
			var closed websocket.CloseError
			if !errors.As(err, &closed) {
				c.t.Errorf("closed without a reason: error %v", err)
			}
			return closed
		}
	}
}

// pass lets the bubble's time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
