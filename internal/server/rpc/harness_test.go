package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Keys of the test chain: all balances of genesis are theirs.
var (
	producer = newKey(1)
	alice    = newKey(2)
	bob      = newKey(3)
	poor     = newKey(4) // has too few coins for any gas
	admin    = newKey(5)
)

const (
	genesisTime = 1_700_000_000 // in seconds
	testSource  = "192.0.2.1"   // source address of requests
)

func newKey(seed byte) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey([32]byte{31: seed})
	if err != nil {
		panic(err)
	}
	return key
}

func account(key crypto.PrivateKey) types.Account { return types.Account(key.PublicKey()) }

// testChain is a node without network and clock: store, ledger, pool and server, with blocks on demand.
type testChain struct {
	t      testing.TB
	store  *chain.Store
	ledger *ledger.Ledger
	pool   *mempool.Pool
	server *Server
	config Config            // of the server
	sealer crypto.PrivateKey // the key that seals blocks

	testEngines

	mu        sync.Mutex // guards the fields below: blocks are made by tests and by the dev_ methods
	snapshots []types.Height
	testClock
	standing
}

// testEngines are the engines of blocks, of view calls and of trials.
type testEngines struct{ engine, views, trials *wasm.Engine }

// testClock decides the times of blocks.
type testClock struct {
	nextTime uint64 // in milliseconds
	interval time.Duration
	ahead    int64
}

// standing is the node's status.
type standing struct {
	state     api.SyncState
	reason    string
	following Following
	mode      api.Mode
}

// noting is an engine for traces that name places.
func noting(stopped func(types.CodeHash, []vm.Place)) (vm.Engine, func() error, error) {
	e, err := wasm.New(wasm.Options{Fresh: true, Stopped: stopped})
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

// newTestChain starts a development chain at its genesis.
func newTestChain(t testing.TB) *testChain {
	return startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{}, jsonrpc.Options{})
}

func startTestChain(
	t testing.TB, network types.Network, chainID uint64, options chain.Options, limits jsonrpc.Options,
) *testChain {
	t.Helper()
	store := testchain.Store(t, options)
	genesis := types.Genesis{
		ChainID: chainID, Network: network, Time: 1000 * genesisTime, BaseFee: params.DefaultMinBaseFee,
		Parameters: params.Default(producer.PublicKey()),
	}
	genesis.Parameters.Admin = account(admin)
	for _, key := range []crypto.PrivateKey{producer, admin, alice, bob} {
		genesis.Allocations = append(genesis.Allocations, types.Allocation{
			Account: account(key), Balance: 1000 * types.CoinUnits,
		})
	}
	genesis.Allocations = append(genesis.Allocations, types.Allocation{Account: account(poor), Balance: 5})
	slices.SortFunc(genesis.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	engine, err := wasm.New(wasm.Options{})
	check(t, err)
	views, err := engine.Beside(wasm.Options{})
	check(t, err)
	trials, err := wasm.New(wasm.Options{})
	check(t, err)
	l, err := ledger.Open(store, &genesis, nil, engine)
	check(t, err)
	c := &testChain{
		t:           t,
		store:       store,
		ledger:      l,
		sealer:      producer,
		testEngines: testEngines{engine, views, trials},
		testClock:   testClock{nextTime: 1000 * (genesisTime + 1)},
		standing:    standing{state: api.StateProducing, mode: api.ModePrimary},
	}
	c.pool, err = mempool.New(mempool.Options{Now: func() time.Time { return time.Unix(genesisTime, 0) }}, mempool.HeadOf(c.ledger))
	check(t, err)
	c.config = Config{
		Chain:     store,
		Ledger:    l,
		Pool:      c.pool,
		Sender:    c.pool,
		Node:      c,
		Engines:   Engines{Views: views, Trials: trials, Noting: noting},
		Proofs:    proving.NewQueue(store, 100),
		Snapshots: offered{},
		Limits:    limits,
		Admission: admission.New(4),
		About: About{Build: build.Info{
			Version: "0.0.1-test",
			Commit:  "c0ffee",
			Date:    "2026-01-02T03:04:05Z",
			Go:      "go1.26",
			OS:      "plan9",
			Arch:    "mips",
		}},
	}
	if chainID == api.DevelopmentChainID {
		c.config.Developer = c
	}
	c.serve(func(*Config) {})
	t.Cleanup(func() {
		check(t, errors.Join(c.pool.Close(), engine.Close(), views.Close(), trials.Close()))
	})
	return c
}

// serve replaces the server by one with another configuration.
func (c *testChain) serve(change func(*Config)) {
	c.t.Helper()
	change(&c.config)
	var err error
	c.server, err = New(c.config)
	check(c.t, err)
}

// groupOf is a group of the server's handlers.
func groupOf[G group](c *testChain) (found G) {
	c.t.Helper()
	i := slices.IndexFunc(c.server.groups, func(g group) bool { _, is := g.(G); return is })
	if i < 0 {
		c.t.Fatalf("the server has no %T", found)
	}
	return c.server.groups[i].(G)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mine makes a block of everything executable.
func (c *testChain) mine() types.SignedHeader {
	c.t.Helper()
	check(c.t, c.Mine(context.Background(), 1))
	return c.store.Head()
}

// include makes a block of the given transactions, even if the pool would refuse them.
func (c *testChain) include(txs ...types.SignedTransaction) types.SignedHeader {
	c.t.Helper()
	check(c.t, c.produce(new(testchain.List(types.VerifyWitnesses(c.store.Genesis().Network, types.NewTxs(txs...))))))
	if got := len(must(c.store.Block(c.store.Head().Header.Height))(c.t).Transactions); got != len(txs) {
		c.t.Fatalf("%d of %d transactions were included", got, len(txs))
	}
	return c.store.Head()
}

// must returns a function that returns the value, or fails the test.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func (c *testChain) produce(txs ledger.Transactions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	seal := func(hash types.BlockHash) (types.Signature, error) { return c.sealer.Sign(hash[:], [32]byte{}) }
	if _, err := c.ledger.Build(ledger.Batch{Time: c.nextTime, Transactions: txs}, seal); err != nil {
		return err
	}
	c.nextTime += 1000
	return c.pool.Reload(mempool.HeadOf(c.ledger))
}

// PeerCount and State make the chain a Node.
func (c *testChain) PeerCount() uint64                    { return 3 }
func (c *testChain) Mode() api.Mode                       { return c.mode }
func (c *testChain) Following() Following                 { return c.following }
func (c *testChain) ProducerKey() (types.PublicKey, bool) { return producer.PublicKey(), true }
func (c *testChain) Cluster() *api.Cluster                { return nil }
func (c *testChain) State() (api.SyncState, string)       { return c.state, c.reason }

// Mine and the methods below make the chain a Developer.
func (c *testChain) Mine(_ context.Context, count uint64) error {
	for range count {
		if err := c.produce(c.pool.Best(c.ledger.Tip().Env.BaseFee)); err != nil {
			return err
		}
	}
	return nil
}

func (c *testChain) SetBlockTime(interval time.Duration) { c.interval = interval }

func (c *testChain) IncreaseTime(seconds uint64) (int64, error) {
	if seconds > tooFarAhead {
		return 0, &sequencer.TimeTooFarError{Max: tooFarAhead}
	}
	c.ahead += int64(seconds)
	c.nextTime += 1000 * seconds
	return c.ahead, nil
}

// tooFarAhead is the most by which time can be moved.
const tooFarAhead = 1 << 40

func (c *testChain) NextTime() uint64 { return c.nextTime }

func (c *testChain) SetNextBlockTime(unix uint64) error {
	if unix < c.store.Head().Header.Timestamp/1000 {
		return sequencer.ErrTimeInPast
	}
	if unix > tooFarAhead {
		return &sequencer.TimeTooFarError{Max: tooFarAhead}
	}
	c.nextTime = 1000 * unix
	return nil
}

func (c *testChain) Snapshot(context.Context) (uint64, error) {
	c.snapshots = append(c.snapshots, c.store.Head().Header.Height)
	return uint64(len(c.snapshots)), nil
}

func (c *testChain) Revert(_ context.Context, id uint64) error {
	if id == 0 || id > uint64(len(c.snapshots)) {
		return sequencer.ErrUnknownSnapshot
	}
	height := c.snapshots[id-1]
	c.snapshots = c.snapshots[:id-1]
	return errors.Join(c.ledger.Rewind(height), c.pool.Reload(mempool.HeadOf(c.ledger)))
}

func (c *testChain) Fund(ctx context.Context, to types.Account, amount types.Amount) (types.TxID, error) {
	nonce, err := c.pool.NextNonce(account(producer))
	if err != nil {
		return types.TxID{}, err
	}
	tx := c.sign(producer, nonce, transfer(to, amount))
	return c.pool.Add(ctx, tx.Encode(), "")
}

// draft is an unsigned transaction with usual fees.
func (c *testChain) draft(key crypto.PrivateKey, nonce uint64, payload types.Payload) types.Transaction {
	tx := types.Transaction{
		ChainID:              c.store.Genesis().ChainID,
		Sender:               account(key),
		Nonce:                nonce,
		GasLimit:             200_000,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 2,
	}
	set(&tx, payload)
	return tx
}

// action is a payload with its target and value.
type action struct {
	types.Payload
	target types.Account
	value  types.Amount
}

// set sets a transaction's payload, which may be an action.
func set(tx *types.Transaction, payload types.Payload) {
	if a, is := payload.(action); is {
		tx.Target, tx.Value, payload = a.target, a.value, a.Payload
	}
	tx.Payload = payload
}

// oneOf is a policy of one key.
func oneOf(key types.Account) types.Policy {
	return types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: types.PublicKey(key)}}}}
}

func transfer(to types.Account, amount types.Amount) action {
	return action{types.Transfer{}, to, amount}
}

func calling(contract types.ContractID, value types.Amount, call types.Call) action {
	return action{call, types.Account(contract), value}
}

func (c *testChain) sign(key crypto.PrivateKey, nonce uint64, payload types.Payload) types.SignedTransaction {
	return c.signed(key, c.draft(key, nonce, payload))
}

func (c *testChain) signed(key crypto.PrivateKey, tx types.Transaction) types.SignedTransaction {
	c.t.Helper()
	return must(types.Sign(tx, key, [32]byte{}))(c.t)
}

// invalid is the error of an invalid parameter.
var invalid = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}

// post sends one call over HTTP and returns its result as JSON, or its error.
func (c *testChain) post(method string, params ...any) (json.RawMessage, *jsonrpc.Error) {
	c.t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	check(c.t, err)
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	carries := request.New(r.Context()) // the request of package front
	carries.Source = testSource
	recorder := httptest.NewRecorder()
	c.server.ServeHTTP(recorder, r.WithContext(carries))
	var response struct {
		Result json.RawMessage
		Error  *jsonrpc.Error
	}
	if recorder.Code != http.StatusOK {
		c.t.Fatalf("%s: HTTP %d, want %d: %s", method, recorder.Code, http.StatusOK, recorder.Body)
	}
	check(c.t, json.Unmarshal(recorder.Body.Bytes(), &response))
	c.checkDeclared(method, response.Error)
	return response.Result, response.Error
}

// checkDeclared fails the test if a method answers with one of this node's errors without declaring it.
func (c *testChain) checkDeclared(method string, failure *jsonrpc.Error) {
	c.t.Helper()
	if failure == nil || failure.Code == jsonrpc.CodeMethodNotFound {
		return
	}
	for _, d := range api.Declarations() {
		if d.Name == method && slices.ContainsFunc(d.Errors, func(e *jsonrpc.Error) bool { return errors.Is(failure, e) }) {
			return
		}
	}
	c.t.Errorf("%s does not declare %v %v", method, failure, failure.Data)
}

// call returns the result of a method that must succeed.
func call[R any](c *testChain, method string, params ...any) R {
	c.t.Helper()
	raw, failure := c.post(method, params...)
	if failure != nil {
		c.t.Fatalf("%s%v: %v %v", method, params, failure, failure.Data)
	}
	var result R
	check(c.t, json.Unmarshal(raw, &result))
	return result
}

// refused calls a method that must fail with the error want.
func (c *testChain) refused(want *jsonrpc.Error, method string, params ...any) map[string]any {
	c.t.Helper()
	result, failure := c.post(method, params...)
	if failure == nil {
		c.t.Fatalf("%s%v succeeded with %s, want %v", method, params, result, want)
	}
	if !errors.Is(failure, want) {
		c.t.Fatalf("%s%v: got %v %v, want %v %v", method, params, failure, failure.Data, want, want.Data)
	}
	return failure.Data
}
