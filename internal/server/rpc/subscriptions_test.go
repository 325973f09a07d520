package rpc

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// appendLogs appends a block of transfers, one for each list of logs; nil is that of a transaction that failed.
func (c *testChain) appendLogs(logs ...[]types.Log) types.Height {
	c.t.Helper()
	head := c.store.Head().Header
	e := chain.Entry{Result: exec.Result{Header: types.Header{
		Height: head.Height + 1, Parent: c.store.HeadHash(), Timestamp: head.Timestamp + 1,
	}}}
	for i, list := range logs {
		tx := c.sign(alice, uint64(head.Height)*100+uint64(i), types.Transfer{To: account(bob), Amount: 1})
		receipt := types.Receipt{Transaction: tx.ID(), Status: types.StatusSuccess, GasUsed: 21_000, Logs: list}
		reason := exec.Success
		if list == nil {
			receipt.Status, reason = types.StatusFailed, exec.OutOfGas
		}
		e.Transactions, e.Receipts, e.Reasons = append(e.Transactions, types.NewTx(tx)), append(e.Receipts, receipt),
			append(e.Reasons, reason)
	}
	e.Header.ReceiptsRoot = types.ReceiptsRoot(e.Receipts)
	check(c.t, c.store.Append(e))
	return e.Header.Height
}

var (
	tokenContract = types.ContractID{1}
	otherContract = types.ContractID{2}
	fromTopic     = [32]byte{7}
	toTopic       = [32]byte{8}
)

// someLogs are the logs of a block: of three transactions, of which the second fails.
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

func TestEventsOfABlock(t *testing.T) {
	c := newTestChain(t)
	height := c.appendLogs(someLogs()...)
	events := must(c.server.feed.Events(height))(t)
	if len(events) != 3 {
		t.Fatalf("%d events", len(events))
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
			t.Errorf("event %d: %+v", i, e)
		}
		topics := append([][32]byte{sha256.Sum256([]byte(want.name))}, want.topics...)
		if !slices.EqualFunc(e.Topics, topics, func(got api.Data, want [32]byte) bool {
			return string(got) == string(want[:])
		}) {
			t.Errorf("event %d: topics %x, want %x", i, e.Topics, topics)
		}
		if at, index, err := c.server.feed.EventPosition(e.Cursor); at != height || index != uint32(i) || err != nil {
			t.Errorf("event %d: its cursor stands for %d in block %d, %v", i, index, at, err)
		}
		// The receipt of its transaction shows the same.
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
	if events := must(c.server.feed.Events(0))(t); events == nil || len(events) != 0 {
		t.Errorf("genesis: %v", events)
	}
	if events := must(c.server.feed.Events(height + 1))(t); events != nil {
		t.Errorf("a block that is not there: %v", events)
	}
	for _, text := range []string{"", "00", events[0].Cursor + "00", "zz" + events[0].Cursor[2:]} {
		if _, _, err := c.server.feed.EventPosition(text); !errors.Is(err, api.ErrBadCursor) {
			t.Errorf("cursor %q: %v", text, err)
		}
	}
}

func TestEventsThatArePruned(t *testing.T) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{Retention: 2}, jsonrpc.Options{})
	for range 5 {
		c.appendLogs(someLogs()...)
	}
	check(t, c.store.Prune(t.Context()))
	if _, err := c.server.feed.Events(1); !errors.Is(err, chain.ErrPruned) {
		t.Errorf("pruned: %v", err)
	}
	if events := must(c.server.feed.Events(5))(t); len(events) != 3 {
		t.Errorf("the newest: %v", events)
	}
}

// sipping is a connection that is read in pieces smaller than an event, so that none waits in a buffer when it is cut.
type sipping struct{ net.Conn }

func (s sipping) Read(p []byte) (int, error) { return s.Conn.Read(p[:min(len(p), 256)]) }

// TestSubscriptionToEvents subscribes over a connection that is cut after every event: each comes once.
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
			"after a cursor", api.SubscriptionFilter{Cursor: cursor(chain.Position{Height: 2, Index: 1})},
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
				_ = connections[len(connections)-1].Close() // cuts what is still to come
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
