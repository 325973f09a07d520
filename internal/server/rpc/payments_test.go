package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
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

func TestKindsOfPayments(t *testing.T) {
	for i, kind := range exec.PaymentKinds() {
		if len(api.PaymentKinds()) != len(exec.PaymentKinds()) || string(api.PaymentKinds()[i]) != string(kind) {
			t.Fatalf("the kinds are %v, declared %v", exec.PaymentKinds(), api.PaymentKinds())
		}
	}
}

// paid is an account that contracts pay in the tests' blocks.
func paid(n int) types.Account { return types.Account{0xaa, byte(n)} }

// appendPayments appends a block of transfers by alice to bob in which contracts pay the accounts of the lists.
func (c *testChain) appendPayments(lists ...[]int) types.Height {
	logs := make([][]types.Log, len(lists))
	for i, list := range lists {
		logs[i] = []types.Log{}
		for _, n := range list {
			logs[i] = append(logs[i], types.Log{
				Name: types.NativeTransfer, Topics: [][32]byte{otherContract, paid(n)},
				Data: binary.LittleEndian.AppendUint64(nil, uint64(n)+1),
			})
		}
	}
	return c.appendLogs(logs...)
}

func TestGetPayments(t *testing.T) {
	c := newTestChain(t)
	c.appendLogs(someLogs()...) // alice pays bob, a payment of hers fails, she pays again, and a step of hers pays bob
	c.appendPayments([]int{1, 2}, []int{})
	text := func(p api.Payment) string {
		return fmt.Sprint(p.BlockHeight, p.TransactionIndex, " ", p.Kind, uint64(p.Amount))
	}
	both := []string{"1 0 transfer1", "1 2 transfer1", "1 2 batch5", "2 0 transfer1", "2 1 transfer1"}
	for name, tc := range map[string]struct {
		filter map[string]any
		want   []string
	}{
		"of bob":       {map[string]any{"accounts": []any{account(bob)}}, both},
		"what he gets": {map[string]any{"accounts": []any{types.Regtest.Address(account(bob))}, "direction": "in"}, both},
		"what he pays": {map[string]any{"accounts": []any{account(bob)}, "direction": "out"}, nil},
		"alice pays":   {map[string]any{"accounts": []any{account(alice)}, "direction": "out"}, both},
		"by contracts": {map[string]any{"accounts": []any{account(bob)}, "kinds": []any{"contract"}}, nil},
		"in batches":   {map[string]any{"accounts": []any{account(bob)}, "kinds": []any{"batch"}}, both[2:3]},
		"of nobody":    {map[string]any{"accounts": []any{}}, nil},
		"everyone's": {
			map[string]any{"kinds": []any{"contract"}}, []string{"2 0 contract2", "2 0 contract3"},
		},
		"of one block":  {map[string]any{"accounts": []any{account(bob)}, "from_block": 1, "to_block": 1}, both[:3]},
		"of next block": {map[string]any{"from_block": 3}, nil},
		"of two":        {map[string]any{"accounts": []any{paid(1), paid(2)}}, []string{"2 0 contract2", "2 0 contract3"}},
	} {
		for _, order := range []string{"asc", "desc"} {
			want := slices.Clone(tc.want)
			if tc.filter["order"] = order; order == "desc" {
				slices.Reverse(want)
			}
			for _, limit := range []int{1, 2, 100} {
				tc.filter["limit"] = limit
				delete(tc.filter, "cursor")
				var got []string
				for complete := false; !complete; {
					page := call[api.PaymentPage](c, "svc_getPayments", tc.filter)
					if len(page.Payments) > limit || len(got) > 9 {
						t.Fatalf("%s: a page of %d after %q", name, len(page.Payments), got)
					}
					for _, p := range page.Payments {
						got = append(got, text(p))
					}
					complete, tc.filter["cursor"] = page.Complete, page.Resume
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s, pages of %d: %q, want %q", name, order, limit, got, want)
				}
			}
		}
	}
	page := call[api.PaymentPage](c, "svc_getPayments", map[string]any{"kinds": []any{"contract"}, "from_block": 2})
	header := must(c.store.Header(2))(t).Header
	tx := must(c.store.Block(2))(t).Transactions[0]
	want := api.Payment{
		Cursor:          page.Payments[1].Cursor,
		BlockHeight:     2,
		BlockHash:       header.Hash(),
		Timestamp:       seconds(header.Timestamp),
		TransactionHash: tx.ID(),
		Log:             new(uint32(1)),
		Kind:            api.PaymentContract,
		From:            types.Account(otherContract),
		To:              paid(2),
		Amount:          3,
	}
	got := page.Payments[1]
	if got.Log == nil || *got.Log != *want.Log {
		t.Errorf("log %v", got.Log)
	}
	if got.Log, want.Log = nil, nil; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestGetPaymentsRefuses(t *testing.T) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{Retention: 3}, jsonrpc.Options{})
	for range 6 {
		c.appendPayments([]int{1})
	}
	cursors := []string{}
	for _, p := range call[api.PaymentPage](c, "svc_getPayments", map[string]any{"kinds": []any{"contract"}}).Payments {
		cursors = append(cursors, p.Cursor)
	}
	must(c.store.Rewind(5))(t)
	check(t, c.store.Prune(t.Context()))
	ask := func(member string, value any) []any { return []any{map[string]any{member: value}} }
	word := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Data: map[string]any{"reason": "unknown_word"}}
	tests := map[string]struct {
		params []any
		want   *jsonrpc.Error
	}{
		"a limit of 0":          {ask("limit", 0), api.ErrOutOfRange},
		"a limit over 1000":     {ask("limit", 1001), api.ErrOutOfRange},
		"too many accounts":     {ask("accounts", make([]types.Account, 1001)), api.ErrOutOfRange},
		"no account":            {ask("accounts", []any{"dev0"}), invalid},
		"another network's":     {ask("accounts", []any{types.Mainnet.Address(account(bob))}), api.ErrWrongNetwork},
		"another direction":     {ask("direction", "up"), word},
		"another order":         {ask("order", "up"), word},
		"another kind":          {ask("kinds", []any{"fee"}), word},
		"another member":        {ask("account", "x"), invalid},
		"a short cursor":        {ask("cursor", cursors[5][2:]), api.ErrBadCursor},
		"a long cursor":         {ask("cursor", cursors[5]+"00"), api.ErrBadCursor},
		"a cursor of no digits": {ask("cursor", "zz"+cursors[5][2:]), api.ErrBadCursor},
		"a cursor taken back":   {ask("cursor", cursors[5]), api.ErrTakenBack},
		"a cursor pruned":       {ask("cursor", cursors[0]), api.ErrPruned},
		"a height pruned":       {ask("from_block", 0), api.ErrPruned},
		"a height above":        {ask("from_block", 7), api.ErrAboveHead},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { c.refused(tc.want, "svc_getPayments", tc.params...) })
	}
	// Other blocks replace them.
	c.appendPayments([]int{2})
	c.refused(api.ErrTakenBack, "svc_getPayments", tests["a cursor taken back"].params...)
	// On a chain without reverts, the node has not reached that block yet.
	c.serve(func(config *Config) { config.Developer = nil })
	must(c.store.Rewind(5))(t)
	c.refused(api.ErrAboveHead, "svc_getPayments", tests["a cursor taken back"].params...)
}

// TestPaymentsTopic follows a growing random chain, which is reverted at random, over connections that are cut at
// random. Once the subscriber has dropped the reverted payments, it has exactly the chain's.
func TestPaymentsTopic(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := newTestChain(t)
		c.appendPayments([]int{1})
		server := push.New(push.Config{
			Chain: c.store, Calls: c.server.Calls(), Source: c.server.Feed(), Pending: push.NewPending(),
		})
		web := httptest.NewServer(server)
		w := newPaymentWatcher(t, web.URL, r)
		for range 12 {
			for range 1 + r.IntN(8) {
				c.appendPayments([]int{r.IntN(4), r.IntN(4)}, []int{}, []int{r.IntN(4)})
			}
			if head := c.store.Head().Header.Height; head > 3 && r.IntN(3) == 0 {
				must(c.store.Rewind(head - types.Height(r.IntN(3))))(t)
				c.appendPayments([]int{1, 9})
			}
			w.follow(c.store.Head().Header.Height)
		}
		var want []string
		in := map[string]any{"accounts": w.accounts, "direction": "in", "limit": 1000}
		for _, p := range call[api.PaymentPage](c, "svc_getPayments", in).Payments {
			want = append(want, p.Cursor)
		}
		if len(want) < 20 || !slices.Equal(w.cursors(), want) {
			t.Errorf("seed %d: the subscriber has %d payments, the chain %d", seed, len(w.seen), len(want))
		}
		w.node.Close()
		web.Close()
		check(t, server.Shutdown(t.Context()))
	}
}

// paymentWatcher is a program that stores the payments that it has seen, and its cursor.
type paymentWatcher struct {
	t           *testing.T
	r           *rand.Rand
	node        *client.Client
	connections []net.Conn
	accounts    []string
	seen        []api.PaymentPage
}

func newPaymentWatcher(t *testing.T, url string, r *rand.Rand) *paymentWatcher {
	w := &paymentWatcher{t: t, r: r, accounts: []string{paid(1).String(), paid(2).String(), paid(9).String()}}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := new(net.Dialer).DialContext(ctx, network, address)
		w.connections = append(w.connections, connection)
		return sipping{connection}, err
	}}
	w.node = must(client.New(url, client.WithTransport(transport),
		client.WithWait(func(ctx context.Context, _ time.Duration) error { return ctx.Err() })))(t)
	return w
}

func (w *paymentWatcher) cursors() (cursors []string) {
	for _, page := range w.seen {
		for _, p := range page.Payments {
			cursors = append(cursors, p.Cursor)
		}
	}
	return cursors
}

// follow follows up to a height. Each time it begins again, as after a crash; if that fails because payments that it
// has seen were reverted, it drops its last page and tries again.
func (w *paymentWatcher) follow(to types.Height) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		filter := api.SubscriptionFilter{Accounts: w.accounts, Direction: api.DirectionIn, FromBlock: new(types.Height)}
		if len(w.seen) > 0 {
			filter.FromBlock, filter.Cursor = nil, w.seen[len(w.seen)-1].Resume
		}
		for page, err := range w.node.Payments(ctx, filter) {
			if errors.Is(err, api.ErrTakenBack) {
				w.seen = w.seen[:len(w.seen)-1]
				break
			}
			check(w.t, err)
			w.seen = append(w.seen, page)
			if page.Height >= to || page.Complete {
				return
			}
			if w.r.IntN(3) == 0 {
				_ = w.connections[len(w.connections)-1].Close() // cuts the notifications that are still to come
			} else if w.r.IntN(3) == 0 {
				break
			}
		}
	}
}

func TestPaymentsTopicRefuses(t *testing.T) {
	c := newTestChain(t)
	c.appendPayments([]int{1})
	server := push.New(push.Config{
		Chain: c.store, Calls: c.server.Calls(), Source: c.server.Feed(), Pending: push.NewPending(),
	})
	web := httptest.NewServer(server)
	defer web.Close()
	node := must(client.New(web.URL))(t)
	defer node.Close()
	for name, tc := range map[string]struct {
		filter api.SubscriptionFilter
		want   error
	}{
		"a bad cursor":      {api.SubscriptionFilter{Cursor: "00"}, api.ErrBadCursor},
		"too many accounts": {api.SubscriptionFilter{Accounts: make([]string, 1001)}, api.ErrOutOfRange},
		"another network's": {api.SubscriptionFilter{
			Accounts: []string{types.Mainnet.Address(account(bob))},
		}, api.ErrWrongNetwork},
		"above the head": {api.SubscriptionFilter{FromBlock: new(types.Height(3))}, api.ErrAboveHead},
		"taken back": {api.SubscriptionFilter{
			Cursor: paymentCursor(chain.EndOfBlock(1, types.BlockHash{1})),
		}, api.ErrTakenBack},
	} {
		for _, err := range node.Payments(t.Context(), tc.filter) {
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", name, err, tc.want)
			}
			break
		}
	}
	check(t, server.Shutdown(t.Context()))
}

// A filter that names a kind repeatedly equals one that names it once.
func TestPaymentFiltersNameKindsOnce(t *testing.T) {
	asked := slices.Repeat([]api.PaymentKind{api.PaymentCall, api.PaymentTransfer}, 100_000)
	f, err := new(paymentReader).filter(nil, "", asked)
	want := []exec.PaymentKind{exec.PaymentKind(api.PaymentCall), exec.PaymentKind(api.PaymentTransfer)}
	if err != nil || !slices.Equal(f.Kinds, want) {
		t.Errorf("%d kinds, %v, want %v", len(f.Kinds), err, want)
	}
}
