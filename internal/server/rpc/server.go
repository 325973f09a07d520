package rpc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Config holds the dependencies and settings of a Server.
type Config struct {
	Chain     Chain
	Ledger    Ledger
	Pool      Pool
	Sender    Sender
	Node      Node
	Proofs    Proofs
	Engines   Engines
	Developer Developer // nil except on a development chain: there are no dev_ methods
	Snapshots Snapshots // nil: the node offers none
	Admission *admission.Scheduler

	About   About
	Limits  jsonrpc.Options // limits of the transport; zero values stand for defaults
	ViewGas types.Gas       // execution gas of a simulated call; 0: [DefaultViewGas]
}

// Engines holds the engines for execution outside blocks, so that the engine for blocks keeps its caches.
type Engines struct {
	Views  vm.Engine
	Trials vm.Engine // runs the code of simulated deploys, and keeps little of it
	// Noting creates an engine that calls stopped with the place of each failed call, as [wasm.Options].Stopped. shut
	// closes it.
	Noting func(stopped func(types.CodeHash, []vm.Place)) (engine vm.Engine, shut func() error, err error)
}

// About holds the program's part of svc_getNodeInfo.
type About struct {
	Build        build.Info
	Verification string        // api.VerificationStateless, or empty: the node executes every transaction
	Override     *api.Override // parameters that the node was started with, or nil
}

// Server serves the methods of package api over HTTP: JSON-RPC on POST /, and the OpenRPC document on GET
// /openrpc.json. It also serves blocks on GET /blocks/FROM-TO, the bundle of a proof on GET /proof/HEIGHT and an access
// list on GET /accesses/HEIGHT.
type Server struct {
	errors     *clientErrors
	executions *executions
	feed       *Feed
	fees       *feeHandlers
	groups     []group
	rpc        *jsonrpc.Server
	mux        *http.ServeMux
}

// New returns a server. The chain must have its genesis block.
func New(c Config) (*Server, error) {
	genesis := c.Chain.Genesis()
	if c.Developer != nil && genesis.ChainID != api.DevelopmentChainID {
		return nil, fmt.Errorf("the dev_ methods exist only on chain id %d, and this chain has id %d", api.DevelopmentChainID, genesis.ChainID)
	}
	if c.Snapshots == nil {
		c.Snapshots = noSnapshots{}
	}
	if c.Admission == nil {
		c.Admission = admission.New(machine.Cores())
	}
	c.ViewGas = cmp.Or(c.ViewGas, DefaultViewGas)
	c.About.Verification = cmp.Or(c.About.Verification, api.VerificationExecuted)
	c.Limits.Quota = request.Quota
	c.Limits.Running, c.Limits.Heavy = c.Admission.Short(), c.Admission.Long()
	s := &Server{errors: &clientErrors{c.Chain}, executions: newExecutions(c.Admission), mux: http.NewServeMux()}
	s.addGroups(c, genesis)
	document := new(documentHandlers)
	s.groups = append(s.groups, document)
	methods := s.methods()
	declarations := make([]api.Declaration, len(methods))
	handlers := make([]jsonrpc.Method, len(methods))
	for i, m := range methods {
		declarations[i], handlers[i] = m.declaration, m.handler
	}
	document.document = api.NewDocument(declarations)
	var err error
	if s.rpc, err = jsonrpc.NewServer(c.Limits, handlers...); err != nil {
		return nil, err
	}
	s.mux.Handle("/{$}", s.rpc)
	return s, s.serveDocument(document.document)
}

// addGroups creates the groups of handlers and registers the paths that they serve besides methods. A call has a turn
// in one lane at a time; it gives up its turn before it waits for a turn in another.
func (s *Server) addGroups(c Config, genesis types.Genesis) {
	files := &files{s.errors, c.Limits.Incident, c.Admission.Long()}
	live := &liveness{c.Chain, c.Node}
	proofs := newProofHandlers(c, files)
	simulator := &simulator{
		ledger:     c.Ledger,
		engines:    c.Engines,
		executions: s.executions,
		chainID:    genesis.ChainID,
		network:    genesis.Network,
		gas:        c.ViewGas,
	}
	prover := &prover{
		liveness: live,
		chain:    c.Chain,
		ledger:   c.Ledger,
		reads:    c.Admission.Short(),
		long:     c.Admission.Long(),
		undoing:  c.Admission.Long().Kind(1, 0),
	}
	views := &viewHandlers{liveness: live, simulator: simulator, chain: c.Chain, errors: s.errors}
	followers, blocks, transactions := new(followers), &blockReader{c.Chain}, &transactionReader{c.Chain}
	cursors := &cursors{c.Chain, c.Developer != nil}
	events := &eventHandlers{c.Chain, cursors}
	chain := &chainHandlers{
		liveness:  live,
		prover:    prover,
		chain:     c.Chain,
		ledger:    c.Ledger,
		pool:      c.Pool,
		node:      c.Node,
		about:     c.About,
		followers: followers,
		genesis:   genesis,
	}
	ranges := &blockHandlers{blockReader: blocks, files: files, followers: followers}
	payments := &paymentReader{chain: c.Chain, network: genesis.Network, reverts: c.Developer != nil}
	s.feed = &Feed{blocks, c.Proofs, chain, payments, events}
	fates := &fates{c.Pool, c.Node}
	submit := &submitHandlers{
		liveness:     live,
		simulator:    simulator,
		transactions: transactions,
		chain:        c.Chain,
		sender:       c.Sender,
		pool:         c.Pool,
		fates:        fates,
		errors:       s.errors,
		developer:    c.Developer,
	}
	s.fees = &feeHandlers{
		ledger: c.Ledger, chain: c.Chain, blocks: blocks,
		tips: tipCache{limit: maxCachedTips, blocks: map[types.BlockHash]*blockTips{}},
	}
	s.groups = []group{
		chain,
		ranges,
		&accountHandlers{liveness: live, chain: c.Chain, genesis: genesis},
		&inclusionHandlers{
			prover: prover, transactions: transactions, blocks: blocks, lane: c.Admission.Long().Kind(1, 0),
		},
		&transactionHandlers{
			transactionReader: transactions, cursors: cursors, pool: c.Pool, fates: fates, network: genesis.Network,
		},
		submit,
		s.fees,
		&poolHandlers{pool: c.Pool, chain: c.Chain, network: genesis.Network},
		views,
		&contractHandlers{prover: prover, chain: c.Chain, views: views},
		&viewProofHandlers{prover: prover, views: views, chain: c.Chain},
		events,
		&paymentHandlers{payments},
		&traceHandlers{
			transactions: transactions, ledger: c.Ledger, engines: c.Engines, traces: c.Admission.Long().Kind(1, 0), unsent: submit,
		},
		&tokenHandlers{viewHandlers: views, codes: c.Chain, network: genesis.Network},
		proofs,
		&snapshotHandlers{c.Chain, c.Snapshots},
		subscriptionHandlers{},
	}
	if c.Developer != nil {
		s.groups = append(s.groups, &devHandlers{developer: c.Developer, chain: c.Chain, network: genesis.Network})
	}
	s.mux.HandleFunc("GET /proof/{height}", proofs.serveBundle)
	s.mux.HandleFunc("GET /accesses/{height}", proofs.serveAccesses)
	s.mux.HandleFunc("GET "+api.BlocksPath+"{range}", ranges.serveBlocks)
}

func (s *Server) serveDocument(d api.Document) error {
	document, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("OpenRPC document: %w", err)
	}
	digest := sha256.Sum256(document)
	tag := strconv.Quote(hex.EncodeToString(digest[:]))
	s.mux.HandleFunc("GET /openrpc.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document))
	})
	return nil
}

// methods returns the methods of all groups.
func (s *Server) methods() (methods []method) {
	for _, g := range s.groups {
		methods = append(methods, g.methods(s.errors)...)
	}
	return methods
}

// Calls returns the server of JSON-RPC bodies.
func (s *Server) Calls() *jsonrpc.Server { return s.rpc }

// Feed returns the source of the subscriptions' content.
func (s *Server) Feed() *Feed { return s.feed }

// FollowFees reads the blocks behind the suggested fees as they come, while fees are asked for, until ctx ends.
func (s *Server) FollowFees(ctx context.Context) error { return s.fees.follow(ctx) }

// Stats returns the numbers of executions outside blocks.
func (s *Server) Stats() Stats { return s.executions.stats() }

// Public translates an error of the engine for clients. It returns other errors unchanged.
func (s *Server) Public(err error) error { return s.errors.public(err) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }
