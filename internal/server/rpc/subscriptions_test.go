package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// appendLogs appends a block of transfers, one for each list of logs; nil stands for a failed transaction.
func (c *testChain) appendLogs(logs ...[]types.Log) types.Height {
	c.t.Helper()
	head := c.store.Head().Header
	e := chain.Entry{Result: exec.Result{Header: types.Header{
		Height: head.Height + 1, Parent: c.store.HeadHash(), Timestamp: head.Timestamp + 1000,
	}}}
	for i, list := range logs {
		tx := c.sign(alice, uint64(head.Height)*100+uint64(i), transfer(account(bob), 1))
		receipt := types.Receipt{Status: types.StatusSuccess, GasUsed: 10_000, Logs: list}
		reason := exec.Success
		if list == nil {
			receipt.Status, reason = types.StatusFailed, exec.OutOfGas
		}
		e.Transactions, e.Receipts, e.Reasons = append(e.Transactions, types.NewTx(tx)), append(e.Receipts, receipt),
			append(e.Reasons, reason)
	}
	e.Header.ReceiptsRoot, e.Header.GasUsed = lists.ReceiptsRoot(e.Receipts), types.Gas(len(e.Receipts))*10_000
	check(c.t, c.store.Append(e))
	return e.Header.Height
}

var (
	tokenContract = types.ContractID{1}
	otherContract = types.ContractID{2}
	fromTopic     = [32]byte{7}
	toTopic       = [32]byte{8}
)

// someLogs are the logs of a block with three transactions, of which the second fails.
func someLogs() [][]types.Log {
	return [][]types.Log{
		{
			{Contract: tokenContract, Name: "Transfer", Topics: [][32]byte{fromTopic, toTopic}, Data: []byte{1, 2}},
			{Contract: otherContract, Name: "Approval", Topics: [][32]byte{fromTopic}},
		},
		nil,
		{{
			Name: types.NativeTransfer, Topics: [][32]byte{account(alice), account(bob)}, Data: []byte{5, 0, 0, 0, 0, 0, 0, 0},
		}},
	}
}

// allEvents is the number of a block's events: with a limit that is one lower, there are too many.
func allEvents(c *testChain, height types.Height) []api.Event {
	c.t.Helper()
	events, all, err := c.server.feed.Events(height, 1000)
	if check(c.t, err); !all {
		c.t.Fatalf("block %d has more events than there are", height)
	}
	if most := len(events) - 1; most >= 0 {
		if some, all, err := c.server.feed.Events(height, most); all || some != nil || err != nil {
			c.t.Errorf("block %d: got %d events, %v, want no more than %d", height, len(some), err, most)
		}
	}
	return events
}

func TestEventsOfABlock(t *testing.T) {
	c := newTestChain(t)
	height := c.appendLogs(someLogs()...)
	events := allEvents(c, height)
	if len(events) != 3 {
		t.Fatalf("%d events, want 3", len(events))
	}
	block := must(c.store.Block(height))(t)
	for i, want := range []struct {
		contract    types.ContractID
		name        string
		data        string
		transaction uint32
		topics      [][32]byte
	}{
		{tokenContract, "Transfer", "\x01\x02", 0, [][32]byte{fromTopic, toTopic}},
		{otherContract, "Approval", "", 0, [][32]byte{fromTopic}},
		{
			types.ContractID{}, types.NativeTransfer, "\x05\x00\x00\x00\x00\x00\x00\x00", 2,
			[][32]byte{account(alice), account(bob)},
		},
	} {
		e := events[i]
		if e.ContractID != want.contract || e.EventName != want.name || string(e.Data) != want.data ||
			e.BlockHeight != height ||
			e.TransactionIndex != want.transaction || e.TransactionHash != block.Transactions[want.transaction].ID() ||
			e.LogIndex != uint32(i) {
			t.Errorf("event %d: got %+v", i, e)
		}
		if e.BlockHash != block.Header.Hash() || e.Timestamp != seconds(block.Header.Timestamp) {
			t.Errorf("event %d: got block %s at %d, want %s at %d", i, e.BlockHash, e.Timestamp, block.Header.Hash(),
				seconds(block.Header.Timestamp))
		}
		topics := append([][32]byte{sha256.Sum256([]byte(want.name))}, want.topics...)
		if !slices.EqualFunc(e.Topics, topics, func(got api.Data, want [32]byte) bool {
			return string(got) == string(want[:])
		}) {
			t.Errorf("event %d: topics %x, want %x", i, e.Topics, topics)
		}
		if at, err := c.server.feed.EventPosition(e.Cursor); at != (chain.Position{Height: height, Index: uint32(i)}) || err != nil {
			t.Errorf("event %d: its cursor stands for %+v, error %v", i, at, err)
		}
		// The receipt of the event's transaction has the same data.
		receipt := must(groupOf[*transactionHandlers](c).getTransactionReceipt(
			t.Context(), api.TransactionParams{Hash: e.TransactionHash},
		))(t)
		found := slices.ContainsFunc(receipt.Logs, func(l api.Log) bool {
			return l.LogIndex == e.LogIndex && l.EventName == e.EventName && l.Address == e.ContractID &&
				string(l.Data) == string(e.Data)
		})
		if !found {
			t.Errorf("event %d is not among its receipt's logs %+v", i, receipt.Logs)
		}
	}
	if events := allEvents(c, 0); events == nil || len(events) != 0 {
		t.Errorf("genesis: got %v", events)
	}
	if events := allEvents(c, height+1); events != nil {
		t.Errorf("a block that is not there: got %v", events)
	}
	for _, text := range []string{"", "00", events[0].Cursor + "00", "zz" + events[0].Cursor[2:]} {
		if _, err := c.server.feed.EventPosition(text); !errors.Is(err, api.ErrBadCursor) {
			t.Errorf("cursor %q: error %v, want %v", text, err, api.ErrBadCursor)
		}
	}
}

// TestBlockReceipts reads the receipts of a block in pages, and compares them with those of its transactions.
func TestBlockReceipts(t *testing.T) {
	c := newTestChain(t)
	height := c.appendLogs(someLogs()...)
	var want []api.Receipt
	for _, tx := range must(c.store.Block(height))(t).Transactions {
		want = append(want, call[api.Receipt](c, "svc_getTransactionReceipt", tx.ID()))
	}
	if last := want[len(want)-1]; len(last.Logs) != 1 || last.Logs[0].LogIndex != 2 {
		t.Errorf("the last receipt's logs: got %+v, want number 2 alone", last.Logs)
	}
	for _, size := range []int{1, 2, 1000} {
		got := []api.Receipt{}
		for {
			page := call[[]api.Receipt](
				c, "svc_getBlockReceipts", height, map[string]any{"from": len(got), "limit": size},
			)
			if len(page) == 0 {
				break
			}
			if len(page) > size {
				t.Fatalf("a page of %d: got %d receipts", size, len(page))
			}
			got = append(got, page...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("pages of %d: got %+v, want %+v", size, got, want)
		}
	}
	for _, params := range [][]any{{0}, {height + 1}, {height, map[string]any{"from": 1 << 40}}} {
		if got := call[[]api.Receipt](c, "svc_getBlockReceipts", params...); len(got) != 0 {
			t.Errorf("%v: got %+v, want none", params, got)
		}
	}
	c.refused(api.ErrOutOfRange, "svc_getBlockReceipts", 1, map[string]any{"limit": api.MaxReceiptsPage + 1})
}

// A page of receipts ends at 8 MiB.
func TestPagesOfReceiptsAreBounded(t *testing.T) {
	c := newTestChain(t)
	logs := make([][]types.Log, 300)
	for i := range logs {
		logs[i] = []types.Log{{Name: "Large", Data: make([]byte, types.MaxLogDataBytes)}}
	}
	height := c.appendLogs(logs...)
	raw, failure := c.post("svc_getBlockReceipts", height)
	if failure != nil {
		t.Fatal(failure)
	}
	var page []api.Receipt
	check(t, json.Unmarshal(raw, &page))
	if len(raw) > api.MaxPageBytes || len(page) < 200 || len(page) == 300 {
		t.Errorf("got a page of %d receipts and %d bytes, want at most %d bytes", len(page), len(raw), api.MaxPageBytes)
	}
	rest := call[[]api.Receipt](c, "svc_getBlockReceipts", height, map[string]any{"from": len(page)})
	if len(page)+len(rest) != 300 || rest[0].Logs[0].LogIndex != uint32(len(page)) {
		t.Errorf("got %d and %d receipts, want 300 in all", len(page), len(rest))
	}
}

func TestEventsThatArePruned(t *testing.T) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{Retention: 2}, jsonrpc.Options{})
	for range 5 {
		c.appendLogs(someLogs()...)
	}
	check(t, c.store.Prune(t.Context()))
	if _, _, err := c.server.feed.Events(1, 99); !errors.Is(err, chain.ErrPruned) {
		t.Errorf("pruned: error %v, want %v", err, chain.ErrPruned)
	}
	cursor := func(p chain.Position) string { return newCursor(p, types.BlockHash{}) }
	for _, filter := range []map[string]any{
		{"from_block": 1}, {"to_block": 1}, {"cursor": cursor(chain.Position{Height: 1})},
	} {
		if data := c.refused(api.ErrPruned, "svc_getEvents", filter); data["oldestHeight"] != float64(c.store.OldestHeight()) {
			t.Errorf("%v: got %v, want the oldest height %d", filter, data, c.store.OldestHeight())
		}
	}
	end := map[string]any{"cursor": cursor(chain.EndOfEvents(c.store.OldestHeight() - 1))}
	if events := call[[]api.Event](c, "svc_getEvents", end); len(events) == 0 {
		t.Error("after all that is pruned: got no events, want those that are kept")
	}
	if events := allEvents(c, 5); len(events) != 3 {
		t.Errorf("the newest: got %v, want 3 events", events)
	}
}

// TestEventPiecesAreBounded searches for events that two indices have and no event matches: each piece is bounded, and
// the search continues.
func TestEventPiecesAreBounded(t *testing.T) {
	c := newTestChain(t)
	const blocks = 3 * eventWork
	for range blocks {
		c.appendLogs([]types.Log{
			{Contract: tokenContract, Name: "Transfer", Topics: [][32]byte{fromTopic}},
			{Contract: otherContract, Name: "Approval", Topics: [][32]byte{toTopic}},
		})
	}
	filter := &api.SubscriptionFilter{ContractID: new(tokenContract), Topics: []*types.Digest{nil, new(types.Digest(toTopic))}}
	pieces, end := 0, chain.EventsEnd{Reached: chain.EndOfEvents(0)}
	for ; !end.Complete; pieces++ {
		before := end.Reached
		var events []api.Event
		var err error
		events, end, err = c.server.feed.EventPiece(t.Context(), filter, before, 1)
		if check(t, err); len(events) > 0 || end.Reached.Compare(before) <= 0 || end.Reached.Height-before.Height > eventWork {
			t.Fatalf("a piece after %v: got %d events up to %v, want none of at most %d blocks", before, len(events),
				end.Reached, eventWork)
		}
	}
	if end.Reached != chain.EndOfEvents(blocks) || pieces < blocks*2/eventWork {
		t.Errorf("got %d pieces up to %v, want block %d in %d at least", pieces, end.Reached, blocks, blocks*2/eventWork)
	}
}

// TestRangesThatTheChainDoesNotHave asks for heights that do not exist, and resumes from reverted blocks.
func TestRangesThatTheChainDoesNotHave(t *testing.T) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{}, jsonrpc.Options{})
	for range 4 {
		c.appendLogs(someLogs()...)
	}
	for _, method := range []string{"svc_getEvents", "svc_getPayments"} {
		for _, test := range []struct {
			filter map[string]any
			want   *jsonrpc.Error
			member string
		}{
			{map[string]any{"from_block": 6}, api.ErrAboveHead, "from_block"},
			{map[string]any{"to_block": 5}, api.ErrAboveHead, "to_block"},
			{map[string]any{"from_block": 3, "to_block": 2}, api.ErrOutOfRange, "from_block"},
			{map[string]any{"cursor": strings.Repeat("f", 24)}, api.ErrBadCursor, "cursor"},
		} {
			data := c.refused(test.want, method, test.filter)
			if data["param"] != "filter" || data["member"] != test.member {
				t.Errorf("%s %v: got %v, want the member %s", method, test.filter, data, test.member)
			}
			if test.want == api.ErrAboveHead && data["max"] != 4.0 {
				t.Errorf("%s %v: got %v, want max 4", method, test.filter, data)
			}
		}
		c.post(method, map[string]any{"from_block": 5}) // the next event: a client that has all so far asks for it
	}
	events := call[[]api.Event](c, "svc_getEvents", map[string]any{})
	last := map[string]any{"cursor": events[len(events)-1].Cursor}
	if rest := call[[]api.Event](c, "svc_getEvents", last); len(rest) != 0 {
		t.Errorf("after the last event: got %d, want none", len(rest))
	}
	must(c.store.Rewind(1))(t)
	c.refused(api.ErrTakenBack, "svc_getEvents", last)
	for range 3 {
		c.appendLogs(someLogs()[:1]...)
	}
	c.refused(api.ErrTakenBack, "svc_getEvents", last)
	if _, err := c.server.feed.EventPosition(last["cursor"].(string)); !errors.Is(err, api.ErrTakenBack) {
		t.Errorf("a subscription from there: got %v, want %v", err, api.ErrTakenBack)
	}
	c.serve(func(config *Config) { config.Developer = nil }) // no reverts here: the node has not reached that block yet
	must(c.store.Rewind(1))(t)
	c.refused(api.ErrAboveHead, "svc_getEvents", last)
}

// sipping is a connection that is read in pieces smaller than an event, so that no event waits in a buffer when the
// connection is cut.
type sipping struct{ net.Conn }

func (s sipping) Read(p []byte) (int, error) { return s.Conn.Read(p[:min(len(p), 256)]) }

// TestSubscriptionToEvents subscribes over a connection that is cut after every event: each is received once.
func TestSubscriptionToEvents(t *testing.T) {
	c := newTestChain(t)
	for range 3 {
		c.appendLogs(someLogs()...)
	}
	server := push.New(push.Config{
		Chain: c.store, Calls: c.server.Calls(), Source: c.server.Feed(), Pending: push.NewPending(),
	})
	web := httptest.NewServer(server)
	defer web.Close()
	for _, test := range []struct {
		name   string
		filter api.SubscriptionFilter
		want   []api.Quantity // height·10 + index, of those in the first three blocks
	}{
		{"all", api.SubscriptionFilter{FromBlock: new(types.Height)}, []api.Quantity{10, 11, 12, 20, 21, 22, 30, 31, 32}},
		{
			"of a contract", api.SubscriptionFilter{FromBlock: new(types.Height), ContractID: &otherContract},
			[]api.Quantity{11, 21, 31},
		},
		{"with topics", api.SubscriptionFilter{
			FromBlock: new(types.Height), Topics: []*types.Digest{nil, new(types.Digest(fromTopic)), new(types.Digest(toTopic))},
		}, []api.Quantity{10, 20, 30}},
		{
			"after a cursor", api.SubscriptionFilter{
				Cursor: newCursor(chain.Position{Height: 2, Index: 1}, must(c.store.Header(2))(t).Header.Hash()),
			},
			[]api.Quantity{22, 30, 31, 32},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var connections []net.Conn
			transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				connection, err := new(net.Dialer).DialContext(ctx, network, address)
				connections = append(connections, connection)
				return sipping{connection}, err
			}}
			node, err := client.New(web.URL, client.WithTransport(transport),
				client.WithWait(func(ctx context.Context, _ time.Duration) error { return ctx.Err() }))
			check(t, err)
			defer node.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var got []api.Quantity
			for event, err := range node.SubscribeEvents(ctx, test.filter) {
				check(t, err)
				got = append(got, api.Quantity(event.BlockHeight)*10+api.Quantity(event.LogIndex))
				if len(got) == len(test.want) {
					break
				}
				_ = connections[len(connections)-1].Close() // cuts the events that are still to come
			}
			if len(connections) != len(test.want) {
				t.Errorf("%d connections for %d events", len(connections), len(test.want))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("events %v, want %v", got, test.want)
			}
		})
	}
	check(t, server.Shutdown(t.Context()))
}

func TestNotOverHTTP(t *testing.T) {
	c := newTestChain(t)
	want := &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}
	c.refused(want, "svc_subscribe", api.TopicBlocks)
	c.refused(want, "svc_unsubscribe", "0x1")
}
