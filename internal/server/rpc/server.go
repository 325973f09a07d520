package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
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
	Receipts(types.Height) ([]types.Receipt, error)
	HeightOf(types.BlockHash) (types.Height, error)
	FindTransaction(types.TxID) (chain.Position, error)
	Transaction(chain.Position) (types.SignedTransaction, types.Receipt, error)
	ByAccount(account types.Account, before chain.Position, limit int) ([]chain.Position, error)
	Recent(limit int) ([]chain.Position, error)
	StateAt(types.Height) (*chain.State, error)
	WaitHeight(context.Context, types.Height) error
}

// Ledger is the chain's tip: a *ledger.Ledger.
type Ledger interface {
	Tip() *ledger.Tip
	Prove(key []byte) (ledger.Proof, error)
}

// Pool is what waits for a block: a *mempool.Pool.
type Pool interface {
	Add(ctx context.Context, encoded []byte, source string) (types.TxID, error)
	Get(types.TxID) (*types.VerifiedTx, bool)
	NextNonce(types.Account) (uint64, error)
	Stats() mempool.Stats
}

// Node is what a node knows of itself while it runs.
type Node interface {
	// PeerCount is the number of replicas that sync from here.
	PeerCount() uint64
	// State is what the node is doing about new blocks; the reason says why it holds or has halted.
	State() (state api.SyncState, reason string)
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
	Node      Node
	Developer Developer // nil where the dev_ methods do not exist: on every chain but a development chain

	Version string          // of the software
	Mode    api.Mode        // what this node is
	Limits  jsonrpc.Options // of the transport; zero values are the defaults
}

// Server answers the methods of package api over HTTP: JSON-RPC on POST /, the OpenRPC document on GET /openrpc.json.
type Server struct {
	chain     Chain
	ledger    Ledger
	pool      Pool
	node      Node
	developer Developer
	version   string
	mode      api.Mode

	network types.Network
	chainID uint64
	tips    tipCache

	rpc      *jsonrpc.Server
	document api.Document
	mux      *http.ServeMux
}

// New returns a server. The chain must have its genesis.
func New(c Config) (*Server, error) {
	genesis := c.Chain.Genesis()
	if c.Developer != nil && genesis.ChainID != api.DevelopmentChainID {
		return nil, fmt.Errorf("the dev_ methods are for chain id %d, this is %d", api.DevelopmentChainID, genesis.ChainID)
	}
	s := &Server{
		chain: c.Chain, ledger: c.Ledger, pool: c.Pool, node: c.Node, developer: c.Developer, version: c.Version,
		mode: c.Mode, network: genesis.Network, chainID: genesis.ChainID,
	}
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

// Drain makes the server refuse new requests from now on. Requests under way go on.
func (s *Server) Drain() { s.rpc.Drain() }

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
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		source = r.RemoteAddr // no port: a transport without one, such as a Unix socket
	}
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sourceKey{}, source)))
}

type sourceKey struct{}

// sourceOf is where a call comes from, for what the pool holds against a source; empty for the node's own calls.
func sourceOf(ctx context.Context) string {
	source, _ := ctx.Value(sourceKey{}).(string)
	return source
}

// method is a declaration with its handler.
type method struct {
	declaration api.Declaration
	handler     jsonrpc.Method
}

func bind[P, R any](m api.Method[P, R], handle func(context.Context, P) (R, error)) method {
	return method{m.Declaration, jsonrpc.NewMethod(m.Name, func(ctx context.Context, params P) (R, error) {
		result, err := handle(ctx, params)
		return result, public(err)
	})}
}

// methods is the dispatch table.
func (s *Server) methods() []method {
	methods := []method{
		bind(api.BlockNumber, s.blockNumber),
		bind(api.GetBalance, s.getBalance),
		bind(api.GetTransactionCount, s.getTransactionCount),
		bind(api.ResolveAddress, s.resolveAddress),
		bind(api.GetNodeInfo, s.getNodeInfo),
		bind(api.GetSyncStatus, s.getSyncStatus),
		bind(api.ChainID, s.getChainID),
		bind(api.GetGenesis, s.getGenesis),
		bind(api.GetParameters, s.getParameters),
		bind(api.GetAccountProof, s.getAccountProof),

		bind(api.GetBlockByNumber, s.getBlockByNumber),
		bind(api.GetBlockByHash, s.getBlockByHash),
		bind(api.GetBlocks, s.getBlocks),
		bind(api.GetTransactionByHash, s.getTransactionByHash),
		bind(api.GetTransactionReceipt, s.getTransactionReceipt),
		bind(api.GetTransactionStatus, s.getTransactionStatus),
		bind(api.GetTransactionsByAddress, s.getTransactionsByAddress),
		bind(api.ListRecentTransactions, s.listRecentTransactions),

		bind(api.SendRawTransaction, s.sendRawTransaction),
		bind(api.SendRawTransactionSync, s.sendRawTransactionSync),
		bind(api.Call, s.call),
		bind(api.EstimateGas, s.estimateGas),
		bind(api.GasPrice, s.gasPrice),
		bind(api.GetMempoolStats, s.getMempoolStats),
		bind(api.GetFeeMarket, s.getFeeMarket),
		bind(api.GetFeeHistory, s.getFeeHistory),

		bind(api.Discover, s.discover),
	}
	if s.developer == nil {
		return methods
	}
	return append(methods,
		bind(api.DevMine, s.devMine),
		bind(api.DevSetBlockTime, s.devSetBlockTime),
		bind(api.DevIncreaseTime, s.devIncreaseTime),
		bind(api.DevSetNextBlockTime, s.devSetNextBlockTime),
		bind(api.DevSnapshot, s.devSnapshot),
		bind(api.DevRevert, s.devRevert),
		bind(api.DevFund, s.devFund),
	)
}

func (s *Server) discover(context.Context, api.NoParams) (api.Document, error) {
	return s.document, nil
}
