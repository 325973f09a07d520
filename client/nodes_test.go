package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// patient is a client of nodes that does not sleep between attempts, but appends the pauses to the list.
func patient(t *testing.T, pauses *[]time.Duration, url string, options ...Option) *Client {
	t.Helper()
	c, err := New(url, append(options, WithWait(func(ctx context.Context, d time.Duration) error {
		*pauses = append(*pauses, d)
		return ctx.Err()
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// nobody is a URL that refuses connections.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// replying answers each call with 0x7 and counts the requests. Those with a number below `from` get the status instead.
func replying(t *testing.T, from, status int, header http.Header) (url string, requests *int) {
	t.Helper()
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if *requests++; *requests < from {
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			return
		}
		var call struct{ ID json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"0x7"}`, call.ID)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestReadsAreAskedAgain(t *testing.T) {
	send := func(c *Client) error {
		return c.Raw(t.Context(), api.SendRawTransaction.Name, []any{"0x00"}, nil)
	}
	read := func(c *Client) error { return c.Raw(t.Context(), api.BlockNumber.Name, nil, nil) }
	seconds := http.Header{"Retry-After": {"3"}}
	for _, test := range []struct {
		name     string
		call     func(*Client) error
		from     int
		status   int
		header   http.Header
		requests int
		fails    bool
	}{
		{"a read, while the node starts", read, 3, 503, nil, 3, false},
		{"a read that a balancer has no node for", read, 2, 502, nil, 2, false},
		{"a read that is refused for good", read, 2, 401, nil, 1, true},
		{"a transaction that may have arrived", send, 2, 503, nil, 1, true},
		{"a transaction of a client that asks too much", send, 2, 429, seconds, 2, false},
		{"a read for as long as it may be", read, 1000, 429, seconds, 10, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var pauses []time.Duration
			url, requests := replying(t, test.from, test.status, test.header)
			err := test.call(patient(t, &pauses, url))
			if (err != nil) != test.fails || *requests != test.requests {
				t.Errorf("got %v after %d requests, want failed %t after %d", err, *requests, test.fails, test.requests)
			}
			if test.header != nil && slices.ContainsFunc(pauses, func(d time.Duration) bool { return d != 3*time.Second }) {
				t.Errorf("got pauses %v, want those that the node asks for", pauses)
			}
		})
	}
}

func TestWhatDidNotArriveIsSentAgain(t *testing.T) {
	var pauses []time.Duration
	err := patient(t, &pauses, nobody(t)).Raw(t.Context(), api.SendRawTransaction.Name, []any{"0x00"}, nil)
	if !errors.Is(err, ErrUnreachable) || len(pauses) < 5 {
		t.Errorf("got %v after %d pauses, want unreachable after some", err, len(pauses))
	}
	pauses = nil
	err = patient(t, &pauses, nobody(t), WithRetry(0)).Raw(t.Context(), api.BlockNumber.Name, nil, nil)
	if !errors.Is(err, ErrUnreachable) || len(pauses) > 0 {
		t.Errorf("with no retry: got %v after %d pauses, want unreachable at once", err, len(pauses))
	}
}

func TestSubscriptionWaitsForANode(t *testing.T) {
	var pauses []time.Duration
	c := patient(t, &pauses, nobody(t))
	for _, err := range c.SubscribeSyncStatus(t.Context()) {
		if !errors.Is(err, ErrUnreachable) || len(pauses) < 5 {
			t.Errorf("got %v after %d pauses, want unreachable after some", err, len(pauses))
		}
	}
}

func TestNextNodeIsAsked(t *testing.T) {
	var pauses []time.Duration
	url, requests := replying(t, 0, 0, nil)
	c := patient(t, &pauses, nobody(t), WithFallback(url))
	for range 2 {
		if height, err := c.BlockNumber(t.Context()); height != 7 || err != nil {
			t.Errorf("got %d, %v, want 7", height, err)
		}
	}
	if len(pauses) > 0 || *requests != 2 {
		t.Errorf("got %d pauses and %d requests, want 0 and 2", len(pauses), *requests)
	}
}

func TestSilentNodeIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	var pauses []time.Duration
	_, err := patient(t, &pauses, server.URL, WithTimeout(time.Millisecond), WithRetry(0)).BlockNumber(t.Context())
	if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want unreachable, as the time is up", err)
	}
}

// A node with a limit of 100 gas per request answers every call that takes 30 to 100 gas, and never one of 101.
func TestBatchIsDividedForABoundOfTheRequest(t *testing.T) {
	var sizes []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var calls []struct {
			ID     json.RawMessage
			Params []json.Number
		}
		if err := json.NewDecoder(r.Body).Decode(&calls); err != nil {
			t.Error(err)
		}
		sizes = append(sizes, len(calls))
		left, answers := int64(100), make([]string, len(calls))
		for i, call := range calls {
			needs, _ := call.Params[0].Int64()
			if needs > left {
				answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32040,"message":"too much",`+
					`"data":{"reason":"request_gas"}}}`, call.ID)
				continue
			}
			left -= needs
			answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":["%d"]}`, call.ID, needs)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "[%s]", strings.Join(answers, ","))
	}))
	defer server.Close()
	var pauses []time.Duration
	c := patient(t, &pauses, server.URL)
	needs := []uint64{30, 40, 50, 60, 100, 101}
	var b Batch
	var calls []Pending[[]string]
	type params struct {
		Gas uint64 `json:"gas"`
	}
	method := api.Method[params, []string]{Declaration: api.Declaration{Name: "svc_test"}}
	for _, n := range needs {
		calls = append(calls, Add(&b, method, params{n}))
	}
	if err := b.Send(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for i, call := range calls {
		got, err := call.Result()
		if over := needs[i] > 100; over != errors.Is(err, api.ErrRequestGas) ||
			!over && !slices.Equal(got, []string{fmt.Sprint(needs[i])}) {
			t.Errorf("the call of %d gas: got %v, %v", needs[i], got, err)
		}
	}
	if want := []int{6, 4, 3, 2, 1}; !slices.Equal(sizes, want) {
		t.Errorf("got requests of %v calls, want %v", sizes, want)
	}
}

func TestReplacedTransactionIsNotWaitedFor(t *testing.T) {
	tx, other := signedTransfer(t), types.TxID{9}
	block := types.BlockHash{1}
	c := connect(t, nil, slowReceipts(1000),
		always(api.GetTransactionByHash, (*api.Transaction)(nil)),
		answer(api.SendRawTransactionSync, func(api.RawTransactionParams) (api.Receipt, error) {
			return api.Receipt{}, api.ErrTimeUp
		}),
		always(api.GetTransactionCount, api.Quantity(1)),
		always(api.GetTransactionByNonce, &api.Transaction{Hash: other, BlockHash: &block, Witness: api.Witness{Witness: types.WitnessKey{}}}))
	_, err := c.SendAndWait(t.Context(), tx)
	var e *Error
	if !errors.Is(err, api.ErrDisplaced) || !errors.As(err, &e) || e.Data["by"] != other || e.Data["hash"] != tx.ID() {
		t.Errorf("got %v, want displaced by %s", err, other)
	}
}

// The client stops waiting for an expired transaction once a block has a later time and no node has the transaction.
func TestExpiredTransactionIsNotWaitedFor(t *testing.T) {
	tx := signedTransfer(t)
	tx.ValidUntil = new(uint64(1000))
	looks := uint64(0)
	c := connect(t, nil, slowReceipts(1000),
		answer(api.SendRawTransactionSync, func(api.RawTransactionParams) (api.Receipt, error) {
			return api.Receipt{}, api.ErrTimeUp
		}),
		answer(api.GetBlockByNumber, func(p api.GetBlockByNumberParams) (*api.Block, error) {
			looks++
			return &api.Block{TimestampMs: 997 + looks}, nil
		}))
	_, err := c.SendAndWait(t.Context(), tx)
	var e *Error
	if !errors.Is(err, api.ErrExpired) || !errors.As(err, &e) || e.Data["hash"] != tx.ID() || looks != 4 {
		t.Errorf("got %v after %d looks, want expired after 4", err, looks)
	}
}

func TestDroppedTransactionIsNotWaitedFor(t *testing.T) {
	tx := signedTransfer(t)
	asked, expired := 0, "expired"
	c := connect(t, nil, slowReceipts(1000),
		answer(api.GetTransactionStatus, func(api.TransactionParams) (api.TransactionStatus, error) {
			if asked++; asked < 4 {
				return api.TransactionStatus{Status: api.StatusPending}, nil
			}
			return api.TransactionStatus{Status: api.StatusDropped, Error: &expired}, nil
		}),
		answer(api.SendRawTransactionSync, func(api.RawTransactionParams) (api.Receipt, error) {
			return api.Receipt{}, api.ErrTimeUp
		}))
	for name, wait := range map[string]func() (api.Receipt, error){
		"SendAndWait": func() (api.Receipt, error) { return c.SendAndWait(t.Context(), tx) },
		"WaitReceipt": func() (api.Receipt, error) { return c.WaitReceipt(t.Context(), tx.ID()) },
	} {
		asked = 0
		var e *Error
		if _, err := wait(); !errors.Is(err, api.ErrDropped) || !errors.As(err, &e) || e.Data["cause"] != expired ||
			e.Data["hash"] != tx.ID() || asked != 4 {
			t.Errorf("%s: got %v after %d looks, want dropped: expired after 4", name, err, asked)
		}
	}
}

func TestRecipientsThatNobodyCanHave(t *testing.T) {
	c := connect(t, nil, answer(api.GetAccount, func(p api.GetAccountParams) (api.Account, error) {
		return map[string]api.Account{
			types.Account{31: 7}.String(): {Contract: true}, types.Account{31: 11}.String(): {Balance: 1},
			types.Account{31: 12}.String(): {Nonce: 1}, // a policy account that has sent a transaction
		}[p.Account], nil
	}))
	for last, want := range map[byte]error{4: nil, 5: ErrNobody, 7: nil, 9: ErrNobody, 11: nil, 12: nil} {
		if err := c.CheckRecipient(t.Context(), types.Account{31: last}); !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %v", last, err, want)
		}
	}
}
