package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func TestBadURL(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8777", "ftp://node", "http://"} {
		if _, err := New(url); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
}

func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	for name, url := range map[string]string{"nobody there": closed.URL, "no node": refusing.URL} {
		c, err := New(url, WithRetry(0))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.BlockNumber(t.Context()); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: error %v, want %v", name, err, ErrUnreachable)
		}
		var batch Batch
		call := Add(&batch, api.BlockNumber, api.NoParams{})
		if err := batch.Send(t.Context(), c); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: error of the batch %v, want %v", name, err, ErrUnreachable)
		}
		if _, err := call.Result(); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: error within the batch %v, want %v", name, err, ErrUnreachable)
		}
	}
}

func TestErrorsOfTheNode(t *testing.T) {
	c := connect(
		t, nil, answer(api.GetBalance, func(p api.GetBalanceParams) (api.Quantity, error) { return 0, api.ErrPruned }),
	)
	_, err := c.Balance(t.Context(), types.Account{}, api.AtHeight(1))
	if !errors.Is(err, api.ErrPruned) || errors.Is(err, api.ErrAboveHead) || errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v", err)
	}
}

func TestToken(t *testing.T) {
	node, err := jsonrpc.NewServer(jsonrpc.Options{}, always(api.BlockNumber, api.Quantity(1)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		node.ServeHTTP(w, r)
	}))
	defer server.Close()
	transport := &http.Transport{}
	for token, want := range map[string]int{"secret": 0, "wrong": http.StatusUnauthorized} {
		c, err := New(server.URL, WithToken(token), WithTransport(transport))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.BlockNumber(t.Context())
		var status *StatusError
		if got := errors.As(err, &status); got != (want != 0) || got && status.Status != want {
			t.Errorf("with the token %s: error %v", token, err)
		}
		c.Close()
	}
}

func TestBatch(t *testing.T) {
	c := connect(t, nil,
		always(api.BlockNumber, api.Quantity(17)),
		always[api.TransactionParams, *api.Receipt](api.GetTransactionReceipt, nil),
		answer(api.GetBalance, func(p api.GetBalanceParams) (api.Quantity, error) {
			if p.Block != api.Latest() {
				return 0, api.ErrPruned
			}
			return 5, nil
		}),
		answer(api.GetFeeHistory, func(p api.GetFeeHistoryParams) (api.FeeHistory, error) {
			if p.Blocks != nil || p.Percentiles != nil {
				return api.FeeHistory{}, api.ErrOutOfRange
			}
			return api.FeeHistory{OldestBlock: 8}, nil
		}))
	var batch Batch
	height := Add(&batch, api.BlockNumber, api.NoParams{})
	balance := Add(&batch, api.GetBalance, api.GetBalanceParams{Account: "a"})
	pruned := Add(&batch, api.GetBalance, api.GetBalanceParams{Account: "a", Block: api.AtHeight(1)})
	receipt := Add(&batch, api.GetTransactionReceipt, api.TransactionParams{})
	history := Add(&batch, api.GetFeeHistory, api.GetFeeHistoryParams{})
	if err := batch.Send(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got, err := height.Result(); got != 17 || err != nil {
		t.Errorf("height: got %v, want 17, error %v", got, err)
	}
	if got, err := balance.Result(); got != 5 || err != nil {
		t.Errorf("balance: got %v, want 5, error %v", got, err)
	}
	if _, err := pruned.Result(); !errors.Is(err, api.ErrPruned) {
		t.Errorf("pruned: error %v, want %v", err, api.ErrPruned)
	}
	if got, err := receipt.Result(); got != nil || err != nil {
		t.Errorf("receipt: got %v, error %v", got, err)
	}
	if got, err := history.Result(); got.OldestBlock != 8 || err != nil {
		t.Errorf("history: got %v, error %v, want OldestBlock 8", got, err)
	}
}
