// Package node wires a node: configuration → [New] → [Node.Run]. It is the only place where the parts meet.
package node

import (
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/front"
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

	Files *reload.Set // of the process, which are read again; nil: a set of the node's own
	Log   *slog.Logger
	// OnBlock, unless nil, is told of each block from the start on, with the number of its transactions.
	OnBlock func(header types.SignedHeader, txs int)
}

// Production is how a node makes blocks.
type Production struct {
	Key         sequencer.Signer // [LocalKey], or a *signer.Client; nil: it makes none
	NextKey     sequencer.Signer // of a member of a cluster: that of the next producer, nil where none is coming
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
	FileReads  int           // files that are read for clients at a time, 0 for any number
	// Admin is the admin address where it is served already, which the node closes; nil: the node serves AdminAddr.
	Admin     *Admin
	AdminAddr string
	// AdminTokenFile has the token that the admin address asks for before it changes something; empty: the directory's.
	AdminTokenFile string
}

// Node is a running node, or one about to run.
type Node struct {
	config Config
	dir    *datadir.Dir
	store  *chain.Store // the directory's
	book   *quarantine.List
	ledger tipLedger
	queue  *proving.Queue
	pool   *mempool.Pool
	stage  stage
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
	admission *admission.Scheduler // of what nobody pays for
	listener  net.Listener         // of the public address
	admin     *Admin

	adminToken func() admin.Token
}

// RPCURL is where JSON-RPC is served.
func (n *Node) RPCURL() string {
	scheme := "http://"
	if n.front.TLS() {
		scheme = "https://"
	}
	return scheme + n.listener.Addr().String()
}

// Close releases what New opened; Run calls it.
func (n *Node) Close() error {
	var errs []error
	if n.listener != nil {
		_ = n.listener.Close() // Serve has closed it already where the node ran
	}
	if n.admin != nil {
		n.admin.Close()
	}
	if n.telemetry != nil {
		n.stage.enter("the collector of traces")
		n.closeTelemetry()
	}
	if n.replica != nil {
		n.replica.Close()
	}
	if n.pool != nil {
		n.stage.enter("the mempool's journal")
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
		n.stage.enter("the signer")
		errs = append(errs, n.signer.Close())
	}
	if n.member != nil {
		errs = append(errs, n.member.close())
	}
	n.stage.enter("the database")
	return errors.Join(append(errs, n.dir.Close())...)
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (systemClock) Wall() time.Time                        { return time.Now() }
