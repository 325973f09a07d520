package client

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// lagging is a chain with one account that makes a block for each transaction. Its nodes have a block only after the
// height was requested several times.
type lagging struct {
	mu     sync.Mutex
	height uint64 // equals the account's nonce
	waits  uint64 // accepted transactions that are in no block, and that neither node shows
	nodes  [2]struct{ height, asked uint64 }
}

// node are the methods of one of the nodes.
func (l *lagging) node(i int) []jsonrpc.Method {
	const lag = 3 // number of requests by which the second node is behind
	at := func() uint64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.nodes[i].height
	}
	return []jsonrpc.Method{
		always(api.ChainID, api.Quantity(7)),
		answer(api.BlockNumber, func(api.NoParams) (api.Quantity, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.nodes[i].asked++; l.nodes[i].asked%lag == 0 {
				l.nodes[i].height = l.height
			}
			return api.Quantity(l.nodes[i].height), nil
		}),
		answer(api.GetBalance, func(api.GetBalanceParams) (api.Quantity, error) {
			return api.Quantity(10_000_000_000 - at()), nil
		}),
		answer(api.GetTransactionCount, func(api.GetTransactionCountParams) (api.Quantity, error) {
			return api.Quantity(at()), nil
		}),
		always(api.GasPrice, api.GasPriceInfo{BaseFee: 10, SuggestedPriorityFee: 2, SuggestedMaxFee: 22}),
		always(api.EstimateGas, api.Quantity(10_000)),
		answer(api.SendRawTransactionSync, func(p api.RawTransactionParams) (api.Receipt, error) {
			tx, err := types.DecodeTx(p.Transaction)
			if err != nil {
				return api.Receipt{}, err
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if tx.Signed().Nonce != l.height {
				return api.Receipt{}, api.ErrNonceTooLow
			}
			l.height++
			return api.Receipt{BlockHeight: types.Height(l.height)}, nil
		}),
		answer(api.SendRawTransaction, func(p api.RawTransactionParams) (types.TxID, error) {
			tx, err := types.DecodeTx(p.Transaction)
			if err != nil {
				return types.TxID{}, err
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if tx.Signed().Nonce != l.height+l.waits {
				return types.TxID{}, api.ErrNonceTooLow
			}
			l.waits++
			return tx.ID(), nil
		}),
	}
}

// balanced returns a client of a balancer that sends requests alternately to the two nodes.
func (l *lagging) balanced(t *testing.T) *Client {
	t.Helper()
	var servers [2]http.Handler
	for i := range servers {
		server, err := jsonrpc.NewServer(jsonrpc.Options{}, l.node(i)...)
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = server
	}
	var turn int
	var turns sync.Mutex
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turns.Lock()
		turn++
		node := servers[turn%2]
		turns.Unlock()
		node.ServeHTTP(w, r)
	}))
	t.Cleanup(balancer.Close)
	c, err := New(balancer.URL, WithWait(func(ctx context.Context, _ time.Duration) error { return ctx.Err() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// next is a signed transfer with the nonce that the client determines.
func next(t *testing.T, c *Client, s Signer) types.SignedTransaction {
	t.Helper()
	tx, err := c.Build(t.Context(), s, Transfer(types.Account{1}, 5), TxFields{})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := Sign(t.Context(), s, tx)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// Through a load balancer, consecutive transactions are sent with the right nonces, and the balance and nonce returned
// after each include it.
func TestSendsThroughABalancer(t *testing.T) {
	var chain lagging
	c, s := chain.balanced(t), signer(t)
	const sends = 25
	for i := range uint64(sends) {
		signed := next(t, c, s)
		if _, err := c.SendAndWait(t.Context(), signed); err != nil || signed.Transaction.Nonce != i {
			t.Errorf("send %d, with nonce %d: error %v", i, signed.Transaction.Nonce, err)
		}
		if balance, err := c.Balance(t.Context(), s.Account(), api.Latest()); err != nil ||
			balance != types.Amount(10_000_000_000-i-1) {
			t.Errorf("after send %d the balance is %d, error %v", i, balance, err)
		}
		for _, at := range []api.NonceRef{{}, api.Pending()} {
			if nonce, err := c.Nonce(t.Context(), s.Account(), at); err != nil || nonce != i+1 {
				t.Errorf("after send %d the nonce is %d, want %d, error %v", i, nonce, i+1, err)
			}
		}
	}
}

// Transactions are sent with the right nonces without waiting for blocks. The node that is asked for the next nonce
// does not know the transactions sent to the other node.
func TestSendsAtOnceThroughABalancer(t *testing.T) {
	var chain lagging
	c, s := chain.balanced(t), signer(t)
	for i := range uint64(10) {
		signed := next(t, c, s)
		if _, err := c.Send(t.Context(), signed); err != nil || signed.Transaction.Nonce != i {
			t.Errorf("send %d, with nonce %d: error %v", i, signed.Transaction.Nonce, err)
		}
	}
}

// The nonce of a sent transaction that no node knows counts for a while. After a revert of the chain, the client
// eventually believes the node.
func TestSeenIsNotForEver(t *testing.T) {
	var pauses []time.Duration
	c := connect(t, &pauses, always(api.BlockNumber, api.Quantity(3)), always(api.GetBalance, api.Quantity(9)))
	c.saw(5)
	c.saw(4)
	if balance, err := c.Balance(t.Context(), types.Account{}, api.Latest()); err != nil || balance != 9 ||
		len(pauses) != staleTries {
		t.Errorf("%d, %v after %d pauses", balance, err, len(pauses))
	}
	if _, err := c.Balance(t.Context(), types.Account{}, api.Latest()); err != nil || len(pauses) != staleTries {
		t.Errorf("again: %v after %d pauses", err, len(pauses))
	}
	account := types.Account{1}
	c.sent(types.Transaction{Sender: account, Nonce: 7})
	c.sent(types.Transaction{Sender: account, Nonce: 3})
	if next := c.nonceAfter(account, 5); next != 8 {
		t.Errorf("the next nonce is %d, want 8", next)
	}
	c.nonces[account] = sentNonce{8, time.Now().Add(-sentTime)}
	if next := c.nonceAfter(account, 5); next != 5 {
		t.Errorf("later the next nonce is %d, want 5", next)
	}
}

// When a client reverts the chain, it forgets its nonces and asks the node for them again.
func TestRevertForgetsNonces(t *testing.T) {
	server, err := jsonrpc.NewServer(jsonrpc.Options{}, always(api.DevRevert, true))
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	defer listener.Close()
	c, err := New(listener.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sender := types.Account{7}
	c.sent(types.Transaction{Sender: sender, Nonce: 5})
	c.sent(types.Transaction{Sender: sender, Nonce: 3}) // a replacement
	c.saw(9)
	if got := c.nonceAfter(sender, 2); got != 6 {
		t.Errorf("after nonce 5 comes %d, want 6", got)
	}
	if got := c.nonceAfter(sender, 8); got != 8 {
		t.Errorf("the node knows of nonce 7, and %d comes, want 8", got)
	}
	if err := c.Dev().Revert(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := c.nonceAfter(sender, 2); got != 2 || c.seen.Load() != 0 {
		t.Errorf("after the revert nonce %d comes, block %d was seen", got, c.seen.Load())
	}
}

// A client that sends for more and more accounts keeps only the nonces of the last minute.
func TestNoncesAreForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Client
		send := func(n int, first byte) {
			for i := range n {
				c.sent(types.Transaction{Sender: types.Account{first, byte(i), byte(i >> 8)}})
			}
		}
		send(mostSenders, 1)
		time.Sleep(sentTime) // time in the bubble
		send(10, 2)
		if n := len(c.nonces); n != 10 {
			t.Errorf("%d nonces are kept, want 10", n)
		}
	})
}
