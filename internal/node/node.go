// Package node wires a node: configuration → [New] → [Node.Run]. It is the only place where the parts meet.
package node

import (
	"context"
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

// Config is the configuration of a node, except its data directory.
type Config struct {
	Build build.Info
	Chain datadir.Chain // required chain of the directory
	Role  role.Config   // the node's role in its chain
	Serving
	Proofs      Proofs
	SyncJournal bool // answer a sent transaction only after its sync to disk

	Snapshots struct { // snapshots of the state that the node makes
		Interval uint64 // in blocks; 0 disables snapshots
		Count    int    // number of newest snapshots to keep, at least 1
	}
	Traces struct { // traces sent to an OpenTelemetry collector
		Endpoint string // URL of the collector; empty disables traces
		Every    uint64 // one in this many calls is traced
	}

	Files *reload.Set // files that the process loads again; nil: a set of the node's own
	Log   *slog.Logger
	// OnBlock, unless nil, is called for each block after the start with the number of its transactions.
	OnBlock func(header types.SignedHeader, txs int)
}

// Serving configures the servers of a node.
type Serving struct {
	RPCAddr    string
	HTTP       front.Config  // limits and protection of the public server; the node sets the handlers
	SlowReader time.Duration // time for a subscriber to read a message, 0 for the default
	Explorer   bool          // serve the block explorer on the public address
	ViewGas    types.Gas     // execution gas of a simulated call, 0 for the default
	FileReads  int           // limit of files read for clients at a time, 0 for none
	// Admin is an admin address that is already served, and that the node closes. If it is nil, the node serves
	// AdminAddr.
	Admin     *Admin
	AdminAddr string
	// AdminTokenFile has the token that the admin address requires for changes. If it is empty, the directory's is
	// used.
	AdminTokenFile string
}

// Node is a running node, or one ready to run.
type Node struct {
	config Config
	dir    *datadir.Dir
	store  *chain.Store // store of the directory
	book   *quarantine.List
	ledger tipLedger
	load   func(context.Context) error // ledger.Ledger.Load; nil without state
	queue  *proving.Queue
	role   role.Role
	parts  []part // open parts
	stage  stage

	engine *wasm.Engine // for blocks
	views  *wasm.Engine // for simulated calls and traces
	trials *wasm.Engine // for simulated deploys

	rpc        *rpc.Server
	front      *front.Server
	push       *push.Server
	pending    *push.Pending
	telemetry  *telemetry.Telemetry
	snapshots  *snapshot.Directory // nil in memory
	sources    *sources.Directory
	admission  *admission.Scheduler // schedules work that nobody pays for
	listener   net.Listener         // listener of the public address
	admin      *Admin
	adminToken func() admin.Token
}

// part is an open part to close.
type part struct {
	name  string // name for an operator whose node waits for the close; empty: the part reports it itself
	close func() error
}

// opened registers a part to close with the node.
func (n *Node) opened(name string, close func() error) { n.parts = append(n.parts, part{name, close}) }

// RPCURL returns the base URL of JSON-RPC.
func (n *Node) RPCURL() string {
	scheme := "http://"
	if n.front.TLS() {
		scheme = "https://"
	}
	return scheme + n.listener.Addr().String()
}

// Close closes the parts that New opened in reverse order. Run calls it.
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

// SyncStatus returns the sync status, and reports whether the node follows another.
func (n *Node) SyncStatus() (status api.SyncStatus, follows bool) {
	return n.rpc.Feed().SyncStatus(), n.role.Following() != nil
}
