// Package node wires a node: configuration → [New] → [Node.Run]. It is the only place where the parts meet.
package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/aside"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/sources"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/signer"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Config is what a node is made of, beside its data directory.
type Config struct {
	Build      build.Info
	Mode       api.Mode      // empty: a primary
	Chain      datadir.Chain // that the directory must be of
	Follow     Follow        // of a replica or an archive, and of a primary that follows once it has handed over
	Production               // of a node that makes blocks, now or once production is handed to it
	Serving
	Cluster     *Cluster // nil: of a node that is no member of a cluster
	Proofs      Proofs
	SyncJournal bool // answer a sent transaction only once it is synced

	Snapshots struct { // that the node makes of its state
		Interval uint64 // in blocks; 0: it makes none
		Count    int    // kept, the newest; at least 1
	}
	Traces struct { // that are sent to an OpenTelemetry collector
		Endpoint string // its URL; empty for no traces
		Every    uint64 // one of how many calls is traced
	}

	Log *slog.Logger
	// OnBlock, unless nil, is told of each block from the start on, with the number of its transactions.
	OnBlock func(header types.SignedHeader, txs int)
}

// Production is how a node makes blocks.
type Production struct {
	Key         sequencer.Signer // [LocalKey], or a *signer.Client; nil: it makes none
	LockDir     string           // where what Key signed is remembered; empty: the data directory
	BlockTime   time.Duration    // sequencer.Instant, sequencer.Manual, or the interval
	Development *datadir.Development

	// OnDebug, unless nil, is told what contracts say with the host function debug while this node makes a block. It must
	// not wait.
	OnDebug func(tx types.TxID, contract types.ContractID, message []byte)
}

// Serving is what a node serves, and where.
type Serving struct {
	RPCAddr    string
	HTTP       front.Config  // limits and protection of the public server; the node sets what it serves
	SlowReader time.Duration // that a subscriber may take to read a message, 0 for the default
	Explorer   bool          // whether the public address serves the block explorer
	ViewGas    types.Gas     // execution gas of a call that is not sent, 0 for the default
	AdminAddr  string
	AdminHosts []string // names that the admin address answers to beside local names and addresses, or "*"
}

// Node is a running node, or one about to run.
type Node struct {
	config Config
	dir    *datadir.Dir
	store  *chain.Store // the directory's
	book   *aside.Book
	ledger tipLedger
	queue  *proving.Queue
	pool   *mempool.Pool
	engines
	makers
	servers
}

// engines run contracts.
type engines struct {
	engine *wasm.Engine // of blocks
	views  *wasm.Engine // of calls that are not sent, and traces
	trials *wasm.Engine // of simulated deploys
}

// makers are where blocks come from.
type makers struct {
	maker     *ledger.Ledger   // the ledger, if it can make blocks; else nil
	importer  replica.Importer // blocks into the ledger
	signer    *signer.Client   // that has the producer's key; nil without one
	keyLock   *datadir.KeyLock // nil without a key, and of a development chain
	note      *sequencer.Note  // nil in memory and without a key
	member    *member          // of a node of a cluster; else nil, as the next two are then
	sequencer *sequencer.Solo  // of a node that has a producer's key; else nil
	replica   *replica.Replica // of a node that has an upstream; else nil
	forwarder *replica.Forwarder
	produces  atomic.Bool // whether it is the sequencer's turn, or else the replica's
	overdue   overdueCounts
}

// servers are what others reach.
type servers struct {
	rpc       *rpc.Server
	front     *front.Server
	push      *push.Server
	pending   *push.Pending
	telemetry *telemetry.Telemetry
	snapshots *snapshot.Directory // nil in memory
	sources   *sources.Directory
	listeners struct{ rpc, admin net.Listener }
}

// New makes a node of a data directory, which it closes from now on, and opens the listeners. [Node.Run] does the rest;
// a node that is not run must be closed.
func New(dir *datadir.Dir, config Config) (_ *Node, err error) {
	config.Mode = cmp.Or(config.Mode, api.ModePrimary)
	n := &Node{config: config, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.store, err = dir.Store(); err != nil {
		return nil, err
	}
	n.queue = proving.NewQueue(n.store, config.Proofs.Bits, config.Proofs.Lengths...)
	if n.book, err = dir.Book(); err != nil {
		return nil, err
	}
	if err := n.openEngines(); err != nil {
		return nil, err
	}
	if err := n.openLedger(); err != nil {
		return nil, err
	}
	if err := n.openKeyLock(); err != nil {
		return nil, err
	}
	if err := n.openSigner(); err != nil {
		return nil, err
	}
	if err := n.openMember(); err != nil {
		return nil, err
	}
	if err := n.openPool(); err != nil {
		return nil, err
	}
	if n.telemetry, err = n.newTelemetry(); err != nil {
		return nil, err
	}
	n.sources = sources.OpenDirectory(dir.Sources())
	if n.snapshots, err = dir.Snapshots(); err != nil {
		return nil, err
	}
	if err := n.newEngine(); err != nil {
		return nil, err
	}
	if n.rpc, err = n.newRPCServer(); err != nil {
		return nil, err
	}
	n.push = n.newPush()
	if n.front, err = n.newFront(); err != nil {
		return nil, err
	}
	if n.listeners.rpc, err = listen(config.RPCAddr, "--rpc-addr"); err != nil {
		return nil, err
	}
	n.listeners.admin, err = listen(config.AdminAddr, "--admin-addr")
	return n, err
}

// keeps reports whether the node keeps what it hands on until that is in a block. Without a state it cannot.
func (n *Node) keeps() bool {
	return len(n.config.Follow.URLs) > 0 && !n.config.Follow.Refuse && n.maker != nil
}

// openPool opens the pool of pending transactions, with what makes it last if this node may make blocks of them, or has
// to send them again.
func (n *Node) openPool() (err error) {
	n.pending = push.NewPending()
	options := mempool.Options{SyncJournal: n.config.SyncJournal, Log: n.config.Log, OnAccepted: n.pending.Add}
	if n.maker != nil && n.config.Key != nil {
		options.Admit = n.admit
	}
	if n.member != nil {
		options.Moment, options.Cluster = n.member.clock.Now, n.member.log.Member().Cluster
		options.HeadAt = func(h types.Height) (mempool.Head, error) { return mempool.HeadAt(n.maker, h) }
	}
	if n.config.Key != nil || n.member != nil || n.keeps() {
		options.Journal = n.dir.Journal()
	}
	if n.config.Key != nil {
		if n.note, err = n.dir.Note(); err != nil {
			return err
		}
	}
	n.pool, err = mempool.New(options, mempool.HeadOf(n.ledger))
	return err
}

// listen listens on an address that the flag sets.
func listen(address, flag string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf(
			"%s %s is in use by another program, perhaps another node: end that, or choose another address", flag, address,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return listener, nil
}

// tipLedger is the chain's tip, with its state or without.
type tipLedger interface {
	rpc.Ledger
	mempool.Chain
	TreeSize() int
}

// openLedger opens the chain that the configuration asks for.
func (n *Node) openLedger() error {
	if n.dir.Options().Stateless {
		l, err := n.dir.Stateless(n.config.Chain, n.book, n.engine, n.config.Proofs.Bits)
		if err != nil {
			return err
		}
		n.ledger, n.importer = l, replica.Stateless(l, len(n.config.Proofs.Lengths) > 0)
		return nil
	}
	l, err := n.dir.Ledger(n.config.Chain, n.book, n.engine)
	if err != nil {
		return err
	}
	n.ledger, n.maker, n.importer = l, l, replica.Executing(l)
	return nil
}

// RPCURL is where JSON-RPC is served.
func (n *Node) RPCURL() string {
	scheme := "http://"
	if n.front.TLS() {
		scheme = "https://"
	}
	return scheme + n.listeners.rpc.Addr().String()
}

// AdminURL is where health, readiness, metrics and profiles are served.
func (n *Node) AdminURL() string { return "http://" + n.listeners.admin.Addr().String() }

const shutdownTime = 10 * time.Second

// Run serves and makes blocks until ctx ends or a part fails, and closes the node.
func (n *Node) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return n.front.Serve(n.listeners.rpc) })
	adminServer := n.serve(group, n.listeners.admin,
		admin.New(n.adminConfig()))
	producing, stopProducing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopProducing()
	group.Go(func() error { return n.runEngine(producing) })
	group.Go(func() error { return n.prune(producing) })
	group.Go(func() error { return n.keepSnapshots(producing) })
	group.Go(func() error { return n.announce(producing) })
	group.Go(func() error { return n.prove(running) })
	group.Go(func() error { return n.relay(running) })
	group.Go(func() error {
		<-running.Done()
		return n.stop(adminServer, stopProducing)
	})
	return errors.Join(group.Wait(), n.Close())
}

// adminConfig is what the admin address serves.
func (n *Node) adminConfig() admin.Config {
	config := admin.Config{
		Ready:     n.ready,
		Metrics:   n.telemetry.Handler(),
		Proving:   provers.Handler(n.queue),
		Sources:   sources.PublishHandler(n.sources),
		Backup:    func() (string, error) { return n.dir.Backup(time.Now()) },
		AllowHost: front.NewHosts(n.config.AdminHosts, true).Allow,
	}
	if n.member != nil {
		config.Leads, config.Cluster = n.member.leads, members.Handler(operator{n.member})
	}
	return config
}

// Reload reads the files of the public server again where they have changed: certificate, API keys and JWT secret.
func (n *Node) Reload() { n.front.Reload() }

// prune deletes what the retention does not keep, after each block.
func (n *Node) prune(ctx context.Context) error {
	if n.dir.Options().Retention == 0 {
		return nil
	}
	for {
		err := n.store.Prune(ctx)
		if err == nil {
			err = n.store.WaitHeight(ctx, n.store.Head().Header.Height+1)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// keepSnapshots makes snapshots until ctx ends.
func (n *Node) keepSnapshots(ctx context.Context) error {
	keep := n.config.Snapshots
	if n.snapshots == nil || keep.Interval == 0 {
		return nil
	}
	return n.snapshots.Keep(ctx, n.store, keep.Interval, max(1, keep.Count), n.config.Log)
}

// stop refuses new calls, lets the running ones end, and then stops making blocks, so that a caller who waits for a
// receipt may still get it.
func (n *Node) stop(adminServer *http.Server, stopProducing func()) error {
	defer stopProducing()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if n.member != nil {
		n.member.handOver(ctx)
	}
	n.front.Drain()
	if err := n.push.Shutdown(ctx); err != nil {
		n.config.Log.Warn("WebSocket connections were cut", "error", err)
	}
	if err := n.front.Shutdown(ctx); err != nil {
		n.config.Log.Warn("connections were cut", "error", err)
	}
	if err := adminServer.Shutdown(ctx); err != nil {
		n.config.Log.Warn("connections of the admin address were cut", "error", err)
		_ = adminServer.Close() // they were given their time
	}
	return nil
}

// serve serves the admin address.
func (n *Node) serve(group *errgroup.Group, listener net.Listener, handler http.Handler) *http.Server {
	// Requests that wait for something end with the server.
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(n.config.Log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(cancel)
	group.Go(func() error {
		defer cancel()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return server
}

// announce tells of each new block until ctx ends.
func (n *Node) announce(ctx context.Context) error {
	if n.config.OnBlock == nil {
		return nil
	}
	for height := n.store.Head().Header.Height + 1; ; height++ {
		if err := n.store.WaitHeight(ctx, height); err != nil {
			return nil // the context has ended
		}
		block, err := n.store.Block(height)
		if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrAboveHead) {
			continue // a development chain was taken back just now
		}
		if err != nil {
			return err
		}
		n.config.OnBlock(block.Signed(), len(block.Transactions))
	}
}

func (n *Node) ready() (bool, string) {
	if n.member != nil {
		return n.member.ready()
	}
	if reason := n.elsewhere(); reason != "" && n.config.Mode == api.ModePrimary {
		return false, reason
	}
	if !n.produces.Load() {
		return readyToServe(n.replica.Status(), n.config.Follow.MaxLag)
	}
	if status := n.sequencer.Status(); status.State != sequencer.Producing {
		return false, status.Reason
	}
	if reason := n.unsigned(); reason != "" {
		return false, reason
	}
	if n.pool.Failing() != nil { // the log says why
		return false, "transactions are refused: the mempool's journal cannot be written"
	}
	return true, ""
}

// Close releases what New opened; Run calls it.
func (n *Node) Close() error {
	var errs []error
	if n.listeners.rpc != nil {
		_ = n.listeners.rpc.Close() // Serve has closed it already where the node ran
	}
	if n.listeners.admin != nil {
		_ = n.listeners.admin.Close()
	}
	if n.telemetry != nil {
		n.closeTelemetry()
	}
	if n.replica != nil {
		n.replica.Close()
	}
	if n.pool != nil {
		errs = append(errs, n.pool.Close())
	}
	if n.note != nil {
		errs = append(errs, n.note.Close())
	}
	for _, engine := range []*wasm.Engine{n.engine, n.views, n.trials} {
		if engine != nil {
			errs = append(errs, engine.Close())
		}
	}
	if n.keyLock != nil {
		errs = append(errs, n.keyLock.Close())
	}
	if n.signer != nil {
		errs = append(errs, n.signer.Close())
	}
	if n.member != nil {
		errs = append(errs, n.member.close())
	}
	return errors.Join(append(errs, n.dir.Close())...)
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (systemClock) Wall() time.Time                        { return time.Now() }
