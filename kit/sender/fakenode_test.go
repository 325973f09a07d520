package sender_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// fakeNode is a chain of one account behind a bad network. Requests and answers get lost, some are late, the pool
// forgets, blocks leave transactions out and are reverted, fees rise, and another program uses the account too. It is
// also the clock: time passes when the sender sleeps, with a block per second.
type fakeNode struct {
	t       testing.TB
	account types.Account
	random  *rand.Rand
	methods http.Handler

	mu     sync.Mutex // guards what follows
	now    time.Time
	pool   map[uint64]*types.Tx
	late   [][]byte // requests
	faults map[string]int
	fakeChain
	behaviour
}

// fakeChain holds the included transactions.
type fakeChain struct {
	height   types.Height
	view     types.Height            // the newest block of the node that answers the present request
	times    map[types.Height]uint64 // timestamps of blocks
	headTime uint64                  // timestamp of the newest block, of those too that were taken back
	pinned   types.Height            // the newest block from which a receipt was returned: it is not reverted
	base     types.Amount            // fee
	blocks   []included              // by nonce
	foreign  uint64                  // number of transactions made by the other program
}

// behaviour holds the faults that a test demands of the node.
type behaviour struct {
	calm   bool // no more faults
	still  bool // no blocks are made
	full   bool // blocks include all pending transactions
	refuse int  // number of permanent refusals
}

type included struct {
	tx     *types.Tx
	height types.Height
	time   uint64
	failed bool
}

func newFakeNode(t testing.TB, account types.Account, seed uint64) *fakeNode {
	n := &fakeNode{
		t:         t,
		account:   account,
		random:    rand.New(rand.NewPCG(seed, 0)),
		now:       time.Unix(1_000_000, 0),
		pool:      make(map[uint64]*types.Tx),
		faults:    make(map[string]int),
		fakeChain: fakeChain{base: 10, times: make(map[types.Height]uint64)},
	}
	server, err := jsonrpc.NewServer(jsonrpc.Options{},
		method(api.ChainID, func(api.NoParams) (api.Quantity, error) { return 7, nil }),
		method(api.GetNodeInfo, func(api.NoParams) (api.NodeInfo, error) { return api.NodeInfo{}, nil }),
		method(api.BlockNumber, func(api.NoParams) (api.Quantity, error) { return api.Quantity(n.view), nil }),
		method(api.GetBlockByNumber, func(api.GetBlockByNumberParams) (*api.Block, error) {
			return &api.Block{Height: n.view, TimestampMs: n.times[n.view]}, nil
		}),
		method(api.GasPrice, func(api.NoParams) (api.GasPriceInfo, error) {
			base := api.Quantity(n.base)
			return api.GasPriceInfo{BaseFee: base, SuggestedPriorityFee: 1, SuggestedMaxFee: 2*base + 1}, nil
		}),
		method(api.GetTransactionCount, n.count),
		method(api.GetPendingTransactions, n.pending),
		method(api.SendRawTransaction, n.send),
		method(api.GetTransactionReceipt, n.receipt),
		method(api.GetTransactionByNonce, n.byNonce),
	)
	if err != nil {
		t.Fatal(err)
	}
	n.methods = server
	return n
}

func method[P, R any](m api.Method[P, R], fn func(P) (R, error)) jsonrpc.Method {
	return jsonrpc.NewMethod(m.Name, func(_ context.Context, p P) (R, error) { return fn(p) })
}

// one reports whether a fault happens: once in n times.
func (n *fakeNode) one(in int, fault string) bool {
	if n.calm || n.random.IntN(in) != 0 {
		return false
	}
	n.faults[fault]++
	return true
}

// ServeHTTP is a bad network around the methods.
func (n *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender is gone
	}
	switch {
	case n.one(20, "request lost"):
		panic(http.ErrAbortHandler)
	case n.one(10, "request late"):
		n.late = append(n.late, body)
		panic(http.ErrAbortHandler)
	case n.one(30, "status 429"):
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case n.one(30, "status 503"):
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if n.view = n.height; n.height > 3 && n.one(10, "another node answers") {
		n.view -= types.Height(1 + n.random.IntN(3))
	}
	answer := n.serve(body)
	if n.one(15, "answer lost") {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(answer); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (n *fakeNode) serve(body []byte) []byte {
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	n.methods.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		n.t.Errorf("status %d, want %d: %s", recorder.Code, http.StatusOK, recorder.Body)
	}
	return recorder.Body.Bytes()
}

// count answers for the account itself; others have sent already.
func (n *fakeNode) count(p api.GetTransactionCountParams) (api.Quantity, error) {
	if p.Account != n.account.String() {
		return 1, nil
	}
	next := len(n.blocks)
	for next > 0 && n.blocks[next-1].height > n.view {
		next--
	}
	return api.Quantity(next), nil
}

func (n *fakeNode) pending(api.PendingTransactionsParams) ([]api.PendingTransaction, error) {
	list := []api.PendingTransaction{}
	for _, nonce := range slices.Sorted(maps.Keys(n.pool)) {
		list = append(list, api.PendingTransaction{
			Hash: n.pool[nonce].ID(), From: n.account, Nonce: api.Quantity(nonce), Type: "transfer",
		})
	}
	return list, nil
}

func (n *fakeNode) send(p api.RawTransactionParams) (types.TxID, error) {
	tx, err := types.DecodeTx(p.Transaction)
	if err != nil {
		n.t.Errorf("sent: error %v", err)
		return types.TxID{}, api.ErrUndecodable
	}
	nonce, next := tx.Signed().Nonce, uint64(len(n.blocks))
	if n.refuse > 0 {
		n.refuse--
		return tx.ID(), api.ErrCannotPay
	}
	if n.one(30, "pool full") {
		return tx.ID(), jsonrpc.NewError(api.CodeMempoolFull, "full", "reason", "mempool_full", "retryAfterSeconds", 2)
	}
	old := n.pool[nonce]
	switch {
	case slices.ContainsFunc(n.blocks, func(b included) bool { return b.tx.ID() == tx.ID() }):
		return tx.ID(), api.ErrAlreadyKnown
	case tx.Signed().ValidUntil != nil && *tx.Signed().ValidUntil < n.headTime:
		return tx.ID(), api.ErrExpired
	case nonce < next:
		return tx.ID(), api.ErrNonceTooLow
	case nonce >= next+1024:
		return tx.ID(), api.ErrNonceTooHigh
	case old != nil && old.ID() == tx.ID():
		return tx.ID(), api.ErrAlreadyKnown
	case old != nil && !outbids(tx, old):
		return tx.ID(), api.ErrReplacementUnderpriced
	case old == nil && n.one(15, "refused for good"):
		return tx.ID(), api.ErrCannotPay
	}
	n.pool[nonce] = tx
	return tx.ID(), nil
}

func outbids(tx, old *types.Tx) bool {
	a, b := tx.Signed(), old.Signed()
	return 10*a.MaxFeePerGas >= 11*b.MaxFeePerGas && 10*a.MaxPriorityFeePerGas >= 11*b.MaxPriorityFeePerGas
}

func (n *fakeNode) receipt(p api.TransactionParams) (*api.Receipt, error) {
	for _, b := range n.blocks {
		if b.tx.ID() == p.Hash && b.height > n.view {
			n.faults["no receipt yet"]++
			break
		}
		if b.tx.ID() == p.Hash {
			n.pinned = max(n.pinned, b.height)
			status := api.Quantity(1)
			if b.failed {
				status = 0
			}
			return &api.Receipt{TransactionHash: p.Hash, BlockHeight: b.height, Status: status}, nil
		}
	}
	return nil, nil
}

func (n *fakeNode) byNonce(p api.TransactionByNonceParams) (*api.Transaction, error) {
	if uint64(p.Nonce) >= uint64(len(n.blocks)) || n.blocks[p.Nonce].height > n.view ||
		n.one(3, "no transaction by nonce") {
		return nil, nil
	}
	b := n.blocks[p.Nonce]
	n.pinned = max(n.pinned, b.height) // a displaced transaction stays displaced
	return &api.Transaction{
		Hash: b.tx.ID(), From: n.account, Nonce: api.Quantity(p.Nonce), BlockHash: new(types.BlockHash),
		BlockHeight: &b.height, Witness: api.Witness{Witness: b.tx.Signed().Witness},
	}, nil
}

// Now is [sender.Clock].Now.
func (n *fakeNode) Now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// Sleep is [sender.Clock].Sleep.
func (n *fakeNode) Sleep(d time.Duration, woken <-chan struct{}) {
	if d < 0 {
		<-woken
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	until := n.now.Add(max(d, time.Millisecond))
	for second := n.now.Truncate(time.Second).Add(time.Second); !second.After(until); second = second.Add(time.Second) {
		n.tick()
	}
	n.now = until
}

// tick makes a block, and the other events of that time.
func (n *fakeNode) tick() {
	if len(n.late) > 0 && n.random.IntN(6) == 0 {
		at := n.random.IntN(len(n.late)) // in any order
		n.serve(n.late[at])
		n.late = slices.Delete(n.late, at, at+1)
	}
	if n.one(25, "pool lost") {
		clear(n.pool)
	}
	if n.one(12, "other program") {
		n.other()
	}
	if n.one(40, "blocks taken back") && n.height > n.pinned {
		n.height--
		delete(n.times, n.height+1)
		for len(n.blocks) > 0 && n.blocks[len(n.blocks)-1].height > n.height {
			last := n.blocks[len(n.blocks)-1]
			n.blocks = n.blocks[:len(n.blocks)-1]
			n.pool[uint64(len(n.blocks))] = last.tx
		}
	}
	if n.base = 10; !n.calm && n.random.IntN(3) == 0 {
		n.base = types.Amount(10 + n.random.IntN(30))
	}
	if n.still {
		return
	}
	n.height++
	n.headTime = max(n.headTime, uint64(n.now.UnixMilli()))
	n.times[n.height] = n.headTime
	for nonce, tx := range n.pool {
		if until := tx.Signed().ValidUntil; until != nil && *until < n.headTime {
			delete(n.pool, nonce)
			n.faults["expired"]++
		}
	}
	for room := n.random.IntN(6); room > 0 || n.full; room-- {
		nonce := uint64(len(n.blocks))
		tx := n.pool[nonce]
		if tx == nil || tx.Signed().MaxFeePerGas < n.base {
			break
		}
		delete(n.pool, nonce)
		n.blocks = append(n.blocks, included{tx, n.height, n.headTime, n.random.IntN(20) == 0})
	}
	if n.height > 20_000 {
		n.t.Error("it does not end")
		n.height = 0
	}
}

// other makes a transaction of another program: at the next nonce, or in the place of one of the sender's.
func (n *fakeNode) other() {
	next := uint64(len(n.blocks))
	nonce := next + n.random.Uint64N(3)
	fee := types.Amount(200 + n.foreign)
	if old := n.pool[nonce]; old != nil {
		fee = cmp.Or(2*old.Signed().MaxFeePerGas, fee)
	}
	n.foreign++
	n.pool[nonce] = types.NewTx(types.SignedTransaction{Transaction: types.Transaction{
		Sender:               n.account,
		Target:               types.Account{1},
		Nonce:                nonce,
		MaxFeePerGas:         fee,
		MaxPriorityFeePerGas: fee,
		Value:                types.Amount(1_000_000 + n.foreign),
		Payload:              types.Transfer{},
	}, Witness: types.WitnessKey{}})
}
