// Package node wires a node: configuration → [New] → [Node.Run]. It is the only place where the parts meet.
package node

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/sources"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Config is what a node is made of, beside its data directory.
type Config struct {
	Build build.Info
	Chain datadir.Chain // that the directory must be of
	Role  role.Config   // what the node is to its chain
	Serving
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
	role   role.Role
	parts  []part // that are open
	stage  stage

	engine *wasm.Engine // of blocks
	views  *wasm.Engine // of calls that are not sent, and traces
	trials *wasm.Engine // of simulated deploys

	rpc        *rpc.Server
	front      *front.Server
	push       *push.Server
	pending    *push.Pending
	telemetry  *telemetry.Telemetry
	snapshots  *snapshot.Directory // nil in memory
	sources    *sources.Directory
	admission  *admission.Scheduler // of what nobody pays for
	listener   net.Listener         // of the public address
	admin      *Admin
	adminToken func() admin.Token
}

// part is what must be closed.
type part struct {
	name  string // for an operator whose node waits for it; empty: the part says it
	close func() error
}

// opened has a part closed with the node.
func (n *Node) opened(name string, close func() error) { n.parts = append(n.parts, part{name, close}) }

// RPCURL is where JSON-RPC is served.
func (n *Node) RPCURL() string {
	scheme := "http://"
	if n.front.TLS() {
		scheme = "https://"
	}
	return scheme + n.listener.Addr().String()
}

// Close closes what New opened, what was opened last first; Run calls it.
func (n *Node) Close() error {
	var errs []error
	for _, p := range slices.Backward(n.parts) {
		if p.name != "" {
			n.stage.enter(p.name)
		}
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// SyncStatus tells how far the node is, and whether it follows another.
func (n *Node) SyncStatus() (status api.SyncStatus, follows bool) {
	return n.rpc.Feed().SyncStatus(), n.role.Following() != nil
}
