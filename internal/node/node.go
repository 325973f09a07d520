// Package node wires a node: configuration → [New] → [Node.Run]. It is the only place where the parts meet.
package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/engine/aside"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/heightlock"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Config is what a node is made of.
type Config struct {
	Build       build.Info
	Mode        api.Mode // empty: a primary
	Follow      Follow   // of a replica or an archive, and of a primary that follows once it has handed over
	DataDir     string   // empty: everything in memory
	Genesis     *types.Genesis
	Key         *crypto.PrivateKey // of a node that makes blocks, now or once production is handed to it
	LockDir     string             // where what Key signed is remembered; empty: DataDir
	BlockTime   time.Duration      // of its blocks: sequencer.Instant, sequencer.Manual, or the interval
	RPCAddr     string
	HTTP        front.Config  // limits and protection of the public server; the node sets what it serves
	SlowReader  time.Duration // that a subscriber may take to read a message, 0 for the default
	AdminAddr   string
	AdminHosts  []string // names that the admin address answers to beside local names and addresses, or "*"
	Override    *ledger.Override
	Retention   uint64 // blocks kept behind the head, 0 for all
	Snapshots   KeepSnapshots
	SyncJournal bool  // answer a sent transaction only once it is synced
	CacheBytes  int64 // of the database, 0 for its default
	TableBytes  int   // that the database gathers before it makes a file, 0 for its default
	MaxUnmerged int   // levels of unmerged files of the database before blocks wait, 0 for its default
	Contracts   Contracts
	Proofs      Proofs
	Development *Development
	Log         *slog.Logger

	TraceEndpoint string // URL of an OpenTelemetry collector; empty for no traces
	TraceEvery    uint64 // one of how many calls is traced

	// OnBlock, unless nil, is told of each block from the start on, with the number of its transactions.
	OnBlock func(header types.SignedHeader, txs int)
	// OnDebug, unless nil, is told what contracts say with the host function debug while this node makes a block. It must
	// not wait.
	OnDebug func(tx types.TxID, contract types.ContractID, message []byte)
}

// Node is a running node, or one about to run.
type Node struct {
	config    Config
	lock      io.Closer // of the data directory; nil in memory
	db        *kv.DB
	store     *chain.Store
	lockOfKey *heightlock.Lock // nil where there is no key, and of a development chain
	book      *aside.Book
	note      *sequencer.Note // nil in memory and without a key
	engine    *wasm.Engine
	views     *wasm.Engine // of calls that are not sent, and traces
	trials    *wasm.Engine // of simulated deploys
	ledger    tipLedger
	importer  replica.Importer // blocks into the ledger
	maker     *ledger.Ledger   // the ledger where it can make blocks; else nil
	queue     *proving.Queue
	pool      *mempool.Pool
	sequencer *sequencer.Solo  // of a node that has a producer's key; else nil
	replica   *replica.Replica // of a node that has an upstream; else nil
	forwarder *replica.Forwarder
	produces  atomic.Bool // whether it is the sequencer's turn, or else the replica's
	overdue   overdueCounts
	rpc       *rpc.Server
	telemetry *telemetry.Telemetry
	front     *front.Server
	push      *push.Server
	pending   *push.Pending
	snapshots *snapshot.Directory // nil in memory
	listeners struct{ rpc, admin net.Listener }
}

// The parts of a data directory that the node itself makes.
const (
	databaseDir = "db"
	codeDir     = "code" // machine code of contracts: may be deleted while the node is stopped
	journalFile = "mempool.journal"
	asideFile   = "aside.json"
	noteFile    = "trying.note"
)

// New opens the database and the listeners. [Node.Run] does the rest; a node that is not run must be closed.
func New(config Config) (_ *Node, err error) {
	config.Mode = cmp.Or(config.Mode, api.ModePrimary)
	n := &Node{config: config}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if config.DataDir != "" {
		if n.lock, err = kv.Lock(config.DataDir); err != nil {
			return nil, err
		}
	}
	if n.db, err = config.openDatabase(); err != nil {
		return nil, err
	}
	if n.store, err = config.openStore(n.db); err != nil {
		return nil, err
	}
	n.queue = proving.NewQueue(n.store, config.Proofs.Bits)
	if n.book, err = n.openBook(); err != nil {
		return nil, err
	}
	if err := n.openEngines(); err != nil {
		return nil, err
	}
	if err := n.openLedger(); err != nil {
		return nil, err
	}
	if err := n.openLock(); err != nil {
		return nil, err
	}
	n.pending = push.NewPending()
	options := mempool.Options{SyncJournal: config.SyncJournal, Log: config.Log, OnAccepted: n.pending.Add}
	if n.maker != nil && config.Key != nil {
		options.Admit = n.admit
	}
	if config.DataDir != "" && config.Key != nil {
		options.Journal = filepath.Join(config.DataDir, journalFile)
		if n.note, err = sequencer.OpenNote(filepath.Join(config.DataDir, noteFile), config.Log); err != nil {
			return nil, err
		}
	}
	if n.pool, err = mempool.New(options, sequencer.Head(n.ledger)); err != nil {
		return nil, err
	}
	if n.telemetry, err = n.newTelemetry(); err != nil {
		return nil, err
	}
	if err := n.openSnapshots(); err != nil {
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

// listen listens on an address that the flag sets.
func listen(address, flag string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s %s is in use by another program, perhaps another node: end that, or choose another address", flag, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return listener, nil
}

// tipLedger is the chain's tip, with its state or without.
type tipLedger interface {
	rpc.Ledger
	sequencer.Chain
	TreeSize() int
}

// openLedger opens the chain that the configuration asks for.
func (n *Node) openLedger() error {
	if n.config.Follow.Stateless {
		l, err := ledger.OpenStateless(n.store, n.config.Genesis, n.config.Override, n.book.Refuse(n.engine), n.config.Proofs.Bits)
		if err == nil {
			l.Opinions = opinions(n.book, n.engine)
			n.ledger, n.importer = l, replica.Stateless(l)
		}
		return n.otherGenesis(err)
	}
	l, err := ledger.Open(n.store, n.config.Genesis, n.config.Override, n.book.Refuse(n.engine))
	if err == nil {
		l.Opinions = opinions(n.book, n.engine)
		n.ledger, n.maker, n.importer = l, l, replica.Executing(l)
	}
	return n.otherGenesis(err)
}

// otherGenesis says of [chain.ErrOtherGenesis] which two chains are meant, by the hashes that operators know.
func (n *Node) otherGenesis(err error) error {
	if !errors.Is(err, chain.ErrOtherGenesis) {
		return err
	}
	stored, err1 := GenesisHash(n.store.Genesis())
	given, err2 := GenesisHash(*n.config.Genesis)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return fmt.Errorf("%w: the genesis hash of the chain in %s is %s, that of the genesis given %s: one of the two is in the wrong place",
		chain.ErrOtherGenesis, n.config.DataDir, stored, given)
}

// OpenDatabase opens the database of a data directory, or one in memory where dir is empty.
func OpenDatabase(dir string, cacheBytes int64, log *slog.Logger) (*kv.DB, error) {
	return openDatabase(dir, kv.Options{CacheBytes: cacheBytes, Logger: log})
}

func (c Config) openDatabase() (*kv.DB, error) {
	return openDatabase(c.DataDir, kv.Options{
		CacheBytes: c.CacheBytes, MemTableBytes: c.TableBytes, MaxUnmerged: c.MaxUnmerged, Logger: c.Log,
	})
}

func (c Config) openStore(db *kv.DB) (*chain.Store, error) {
	store, err := chain.Open(db, chain.Options{
		Retention: c.Retention, Archive: c.Mode == api.ModeArchive, Schedule: params.Schedule1.Digest(),
		WitnessBytes: c.Proofs.WitnessBytes, ProofRetention: c.Proofs.Retention, Stateless: c.Follow.Stateless,
	})
	switch {
	case errors.Is(err, chain.ErrArchive):
		err = fmt.Errorf("%w: start it without a retention, or make a replica of it with `cairn db prune --end-archive`", err)
	case errors.Is(err, chain.ErrNoArchive):
		err = fmt.Errorf("%w; an archive begins in an empty directory, at genesis or from a copy of an archive", err)
	}
	return store, err
}

func openDatabase(dir string, options kv.Options) (*kv.DB, error) {
	if dir == "" {
		options.FS = kv.Memory()
		return kv.Open(databaseDir, options)
	}
	if err := (kv.FS{}).MakeDir(dir, 0o700); err != nil {
		return nil, err
	}
	return kv.Open(filepath.Join(dir, databaseDir), options)
}

// StoredGenesis is the genesis of the chain that a data directory holds, nil where it holds none.
func StoredGenesis(dir string) (*types.Genesis, error) {
	if _, err := os.Stat(filepath.Join(dir, databaseDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	db, err := OpenDatabase(dir, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	store, err := chain.Open(db, chain.Options{Schedule: params.Schedule1.Digest()})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	var genesis *types.Genesis
	if !store.Empty() {
		g := store.Genesis()
		genesis = &g
	}
	return genesis, errors.Join(store.Close(), db.Close())
}

// RPCAddr and AdminAddr are the addresses on which the node listens.
func (n *Node) RPCAddr() net.Addr   { return n.listeners.rpc.Addr() }
func (n *Node) AdminAddr() net.Addr { return n.listeners.admin.Addr() }

// RPCURL is where JSON-RPC is served.
func (n *Node) RPCURL() string {
	if n.front.TLS() {
		return "https://" + n.RPCAddr().String()
	}
	return "http://" + n.RPCAddr().String()
}

// Genesis is the chain's genesis.
func (n *Node) Genesis() types.Genesis { return n.store.Genesis() }

const shutdownTime = 10 * time.Second

// Run serves and makes blocks until ctx ends or a part fails, and closes the node.
func (n *Node) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return n.front.Serve(n.listeners.rpc) })
	adminServer := n.serve(group, n.listeners.admin, admin.New(n.ready, n.telemetry.Handler(), provers.Handler(n.queue), front.NewHosts(n.config.AdminHosts, true).Allow))
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

// Reload reads the files of the public server again where they have changed: certificate, API keys and JWT secret.
func (n *Node) Reload() { n.front.Reload() }

// prune deletes what the retention does not keep, after each block.
func (n *Node) prune(ctx context.Context) error {
	if n.config.Retention == 0 {
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

// stop refuses new calls, lets the running ones end, and then stops making blocks, so that a caller who waits for a
// receipt may still get it.
func (n *Node) stop(adminServer *http.Server, stopProducing func()) error {
	defer stopProducing()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
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
		BaseContext: func(net.Listener) context.Context { return ctx }, Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(n.config.Log.Handler(), slog.LevelDebug),
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
	if !n.produces.Load() {
		return readyToServe(n.replica.Status(), n.config.Follow.MaxLag)
	}
	status := n.sequencer.Status()
	return status.State == sequencer.Producing, status.Reason
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
	if n.lockOfKey != nil {
		errs = append(errs, n.lockOfKey.Close())
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.db != nil {
		errs = append(errs, n.db.Close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (systemClock) Wall() time.Time                        { return time.Now() }

// The database's own choices of Config.TableBytes and Config.MaxUnmerged.
const (
	DefaultTableBytes  = kv.DefaultMemTableBytes
	DefaultMaxUnmerged = kv.DefaultMaxUnmerged
)

// ErrLocked is the error of a data directory that another process uses.
var ErrLocked = kv.ErrLocked
