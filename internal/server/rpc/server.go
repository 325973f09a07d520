package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Chain is what is remembered: a *chain.Store.
type Chain interface {
	Genesis() types.Genesis
	Head() types.SignedHeader
	OldestHeight() types.Height
	Header(types.Height) (types.SignedHeader, error)
	Block(types.Height) (types.Block, error)
	EncodedBlock(types.Height) (chain.EncodedBlock, error)
	Receipts(types.Height) ([]types.Receipt, error)
	HeightOf(types.BlockHash) (types.Height, error)
	FindTransaction(types.TxID) (chain.Position, error)
	Transaction(chain.Position) (chain.Included, error)
	Reasons(types.Height) ([]exec.Reason, error)
	Events(ctx context.Context, filter chain.EventFilter, yield func(chain.Event) bool) error
	Code(types.CodeHash) ([]byte, error)
	CodeSize(types.CodeHash) (int, error)
	ByAccount(account types.Account, before chain.Position, limit int) ([]chain.Position, error)
	Recent(limit int) ([]chain.Position, error)
	Accesses(types.Height) ([]types.Access, error)
	Proofs() (chain.ProofRange, error)
	StateAt(types.Height) (*chain.State, error)
	Account(types.Height, types.Account) (state.Account, error)
	WaitHeight(context.Context, types.Height) error
}

// Ledger is the chain's tip: a *ledger.Ledger.
type Ledger interface {
	Tip() *ledger.Tip
	Machine() exec.Machine
	Prove(key []byte) (ledger.KeyProof, error)
	ProveAt(ctx context.Context, h types.Height, key []byte) (ledger.KeyProof, error)
	Trace(p chain.Position, engine vm.Engine, tracer exec.Tracer, stop func() error) error
}

// Pool is what waits for a block: a *mempool.Pool.
type Pool interface {
	Get(types.TxID) (*types.VerifiedTx, bool)
	NextNonce(types.Account) (uint64, error)
	Pending(limit int) []mempool.Pending
	BySender(types.Account) []mempool.Pending
	Stats() mempool.Stats
}

// Sender takes the transactions that clients send: a *mempool.Pool, or what hands them on.
type Sender interface {
	// AddMany keeps encoded.
	AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result
}

// Node is what a node knows of itself while it runs.
type Node interface {
	// PeerCount is the number of replicas that sync from here.
	PeerCount() uint64
	// State is what the node is doing about new blocks; the reason says why it holds or has halted.
	State() (state api.SyncState, reason string)
	// Mode is what the node is at present.
	Mode() api.Mode
	// Following is nil while the node makes the blocks itself.
	Following() Following
	// ProducerKey is the key with which it makes them when it is the producer, false where it has none.
	ProducerKey() (types.PublicKey, bool)
}

// Following is what a node that follows another knows beside that: a *replica.Replica.
type Following interface {
	// SyncStatus is how far the node is; its mode is not set.
	SyncStatus() api.SyncStatus
	// Primary is where blocks come from.
	Primary() string
	// Halted is the cause for which the node takes no more blocks, a word in snake_case; empty while it does.
	Halted() string
}

// Developer changes a development chain's time and blocks.
type Developer interface {
	// Mine makes count blocks.
	Mine(ctx context.Context, count uint64) error
	// SetBlockTime sets the interval between blocks, sequencer.Instant or sequencer.Manual.
	SetBlockTime(time.Duration)
	// IncreaseTime moves the chain's time forward and returns how many seconds it is ahead of the clock in all.
	IncreaseTime(seconds uint64) (ahead int64, err error)
	// SetNextBlockTime sets the next block's timestamp; sequencer.ErrTimeInPast before the head's.
	SetNextBlockTime(unix uint64) error
	// Snapshot remembers the present block.
	Snapshot(ctx context.Context) (id uint64, err error)
	// Revert takes the chain back to a snapshot; sequencer.ErrUnknownSnapshot where there is none.
	Revert(ctx context.Context, id uint64) error
	// Fund sends coins from the development treasury.
	Fund(ctx context.Context, to types.Account, amount types.Amount) (types.TxID, error)
}

// Config is what a Server answers from.
type Config struct {
	Chain     Chain
	Ledger    Ledger
	Pool      Pool
	Sender    Sender
	Node      Node
	Proofs    Proofs
	Views     vm.Engine // runs what is not of a block, so that blocks find their own engine as they left it
	Trials    vm.Engine // runs the code of deploys that are simulated, and keeps little of it
	Developer Developer // nil where the dev_ methods do not exist: on every chain but a development chain
	Snapshots Snapshots // nil where none are offered

	Verification string // api.VerificationStateless, or empty: every transaction is executed on the node's state

	Build    build.Info
	Override *api.Override   // what the node was started with, or nil
	Limits   jsonrpc.Options // of the transport; zero values are the defaults
	ViewGas  types.Gas       // execution gas of a call that is not sent; 0: [DefaultViewGas]
}

// Server answers the methods of package api over HTTP: JSON-RPC on POST /, the OpenRPC document on GET /openrpc.json,
// blocks on GET /blocks/FROM-TO, the bundle of a proof on GET /proof/HEIGHT and an access list on GET /accesses/HEIGHT.
type Server struct {
	chain        Chain
	ledger       Ledger
	pool         Pool
	sender       Sender
	node         Node
	proofs       Proofs
	views        vm.Engine
	trials       vm.Engine
	followers    followers
	developer    Developer
	snapshots    Snapshots
	build        build.Info
	verification string
	override     *api.Override
	viewGas      types.Gas

	network types.Network
	chainID uint64
	circuit types.Digest // of the proofs
	tips    tipCache

	rpc        *jsonrpc.Server
	limiter    limiter
	executions executions
	report     func(ctx context.Context, method string, err error) (incident string)
	document   api.Document
	mux        *http.ServeMux
}

// limiter has a kind of slots for each kind of work. A call passes one of them; no slot is held while it waits for
// another.
type limiter struct {
	reads      *jsonrpc.Slots // what has no other kind
	executions *jsonrpc.Slots // of contracts, that are not of a block
	undoing    *jsonrpc.Slots // proofs of a past state: many blocks may have to be undone in memory
	traces     *jsonrpc.Slots // each executes as much as a block
	verdicts   *jsonrpc.Slots // on proofs of blocks
}

// maxExecutions bounds what executions take together: 16 MiB of memory, 18 MiB of stacks each.
const maxExecutions = 8

func newLimiter(reads *jsonrpc.Slots) limiter {
	return limiter{
		reads:      reads,
		executions: jsonrpc.NewSlots(min(runtime.GOMAXPROCS(0), maxExecutions)),
		undoing:    jsonrpc.NewSlots(1),
		traces:     jsonrpc.NewSlots(1).Refusing(api.ErrBusy),
		verdicts:   jsonrpc.NewSlots(1).Refusing(api.ErrBusy),
	}
}

// New returns a server. The chain must have its genesis.
func New(c Config) (*Server, error) {
	genesis := c.Chain.Genesis()
	if c.Developer != nil && genesis.ChainID != api.DevelopmentChainID {
		return nil, fmt.Errorf("the dev_ methods are for chain id %d, this is %d", api.DevelopmentChainID, genesis.ChainID)
	}
	s := &Server{
		chain: c.Chain, ledger: c.Ledger, pool: c.Pool, sender: c.Sender, node: c.Node, proofs: c.Proofs, views: c.Views, trials: c.Trials, developer: c.Developer, snapshots: c.Snapshots, build: c.Build, verification: cmp.Or(c.Verification, api.VerificationExecuted),
		override: c.Override, viewGas: cmp.Or(c.ViewGas, DefaultViewGas), network: genesis.Network, chainID: genesis.ChainID,
		circuit: blockproof.Circuit().Digest(),
		limiter: newLimiter(c.Limits.Running), report: c.Limits.Incident,
	}
	c.Limits.Quota = request.Quota
	s.tips.limit = maxCachedTips
	methods := s.methods()
	declarations := make([]api.Declaration, len(methods))
	handlers := make([]jsonrpc.Method, len(methods))
	for i, m := range methods {
		declarations[i], handlers[i] = m.declaration, m.handler
	}
	s.document = api.NewDocument(declarations)
	var err error
	if s.rpc, err = jsonrpc.NewServer(c.Limits, handlers...); err != nil {
		return nil, err
	}
	return s, s.route()
}

func (s *Server) route() error {
	document, err := json.Marshal(s.document)
	if err != nil {
		return fmt.Errorf("OpenRPC document: %w", err)
	}
	s.mux = http.NewServeMux()
	s.mux.Handle("/{$}", s.rpc)
	s.mux.HandleFunc("GET /openrpc.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// An error here means that the client has gone: there is nobody left to tell.
		_, _ = w.Write(document)
	})
	s.mux.HandleFunc("GET /proof/{height}", s.serveBundle)
	s.mux.HandleFunc("GET /accesses/{height}", s.serveAccesses)
	s.mux.HandleFunc("GET "+api.BlocksPath+"{range}", s.serveBlocks)
	return nil
}

// Calls answers bodies of JSON-RPC.
func (s *Server) Calls() *jsonrpc.Server { return s.rpc }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// method is a declaration with its handler.
type method struct {
	declaration api.Declaration
	handler     jsonrpc.Method
}

func bind[P, R any](s *Server, m api.Method[P, R], handle func(context.Context, P) (R, error)) method {
	return method{m.Declaration, jsonrpc.NewMethod(m.Name, func(ctx context.Context, params P) (R, error) {
		result, err := handle(ctx, params)
		return result, s.public(err)
	})}
}

// in is a method whose calls run in slots of their own kind; nil: they wait for blocks or signatures, or their handler
// takes a slot when it knows which.
func (m method) in(slots *jsonrpc.Slots) method {
	m.handler = m.handler.In(slots)
	return m
}

// bindGroup binds a method whose consecutive calls in a batch are handled together.
func bindGroup[P, R any](s *Server, m api.Method[P, R], handle func(context.Context, []P) []jsonrpc.Outcome[R]) method {
	return method{m.Declaration, jsonrpc.NewGroupMethod(m.Name, func(ctx context.Context, params []P) []jsonrpc.Outcome[R] {
		outcomes := handle(ctx, params)
		for i := range outcomes {
			outcomes[i].Err = s.public(outcomes[i].Err)
		}
		return outcomes
	})}
}

// methods is the dispatch table.
func (s *Server) methods() []method {
	methods := []method{
		bind(s, api.BlockNumber, s.blockNumber),
		bind(s, api.GetBalance, s.getBalance),
		bind(s, api.GetTransactionCount, s.getTransactionCount),
		bind(s, api.ResolveAddress, s.resolveAddress),
		bind(s, api.GetNodeInfo, s.getNodeInfo),
		bind(s, api.GetSyncStatus, s.getSyncStatus),
		bind(s, api.ChainID, s.getChainID),
		bind(s, api.GetGenesis, s.getGenesis),
		bind(s, api.GetParameters, s.getParameters).in(nil),
		bind(s, api.GetAccountProof, s.getAccountProof).in(nil),

		bind(s, api.GetBlockByNumber, s.getBlockByNumber),
		bind(s, api.GetBlockByHash, s.getBlockByHash),
		bind(s, api.GetBlocks, s.getBlocks),
		bind(s, api.GetTransactionByHash, s.getTransactionByHash),
		bind(s, api.GetTransactionReceipt, s.getTransactionReceipt),
		bind(s, api.GetTransactionStatus, s.getTransactionStatus),
		bind(s, api.GetTransactionsByAddress, s.getTransactionsByAddress),
		bind(s, api.GetTransactionByNonce, s.getTransactionByNonce),
		bind(s, api.ListRecentTransactions, s.listRecentTransactions),

		bindGroup(s, api.SendRawTransaction, s.sendRawTransaction),
		bind(s, api.SendRawTransactionSync, s.sendRawTransactionSync).in(nil),
		bind(s, api.Call, s.call).in(s.limiter.executions),
		bind(s, api.EstimateGas, s.estimateGas).in(s.limiter.executions),
		bind(s, api.GasPrice, s.gasPrice),
		bind(s, api.GetPendingTransactions, s.getPendingTransactions),
		bind(s, api.GetMempoolStats, s.getMempoolStats),
		bind(s, api.GetFeeMarket, s.getFeeMarket),
		bind(s, api.GetFeeHistory, s.getFeeHistory),

		bind(s, api.ViewCall, s.viewCall).in(s.limiter.executions),
		bind(s, api.BatchViewCall, s.batchViewCall).in(s.limiter.executions),
		bind(s, api.GetStorageAt, s.getStorageAt),
		bind(s, api.GetStorageProof, s.getStorageProof).in(nil),
		bind(s, api.ListContracts, s.listContracts),
		bind(s, api.GetContract, s.getContract),
		bind(s, api.GetContractABI, s.getContractAbi),
		bind(s, api.GetContractCode, s.getContractCode),
		bind(s, api.GetCode, s.getCode),
		bind(s, api.GetEvents, s.getEvents),
		bind(s, api.TraceTransaction, s.traceTransaction).in(s.limiter.traces),
		bind(s, api.GetTokenBalance, s.getTokenBalance).in(s.limiter.executions),
		bind(s, api.GetTokenHolders, s.getTokenHolders).in(s.limiter.executions),

		bind(s, api.GetProof, s.getProof),
		bind(s, api.VerifyProof, s.verifyProof).in(s.limiter.verdicts),
		bind(s, api.GetAccessList, s.getAccessList),
		bind(s, api.GetStateSnapshot, s.getStateSnapshot),

		bind(s, api.Subscribe, s.subscribe),
		bind(s, api.Unsubscribe, s.unsubscribe),

		bind(s, api.Discover, s.discover),
	}
	if s.developer == nil {
		return methods
	}
	return append(methods,
		bind(s, api.DevMine, s.devMine).in(nil),
		bind(s, api.DevSetBlockTime, s.devSetBlockTime),
		bind(s, api.DevIncreaseTime, s.devIncreaseTime),
		bind(s, api.DevSetNextBlockTime, s.devSetNextBlockTime),
		bind(s, api.DevSnapshot, s.devSnapshot).in(nil),
		bind(s, api.DevRevert, s.devRevert).in(nil),
		bind(s, api.DevFund, s.devFund).in(nil),
	)
}
