package node

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/accept"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/sources"
)

// New makes a node on a data directory and opens the listeners. The node owns the directory from then on. A node whose
// [Node.Run] is not called must be closed.
func New(dir *datadir.Dir, config Config) (_ *Node, err error) {
	if config.Files == nil {
		config.Files = reload.NewSet(config.Log)
	}
	n := &Node{config: config, dir: dir, pending: push.NewPending(), admission: admission.New(machine.Cores())}
	n.opened("the database", dir.Close)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	var parts role.Parts
	// The order matters: each step uses the results of those before it.
	for _, open := range []func() error{
		n.openAdmin, n.openChain, n.openToken, n.openEngines,
		func() error { return n.openLedger(&parts) }, n.openTelemetry,
		func() error { return n.openRole(parts) }, n.openServers,
	} {
		if err := open(); err != nil {
			return nil, err
		}
	}
	n.admin.Serve(n.adminConfig()) // before anybody learns of the addresses
	return n, nil
}

// openChain opens the chain's store and the other files of the data directory, but not the state.
func (n *Node) openChain() (err error) {
	if n.store, err = n.dir.Store(); err != nil {
		return err
	}
	n.queue = proving.NewQueue(n.store, n.config.Proofs.Bits, n.config.Proofs.Lengths...)
	n.sources = sources.OpenDirectory(n.dir.Sources())
	if n.snapshots, err = n.dir.Snapshots(); err != nil {
		return err
	}
	n.book, err = n.dir.Book()
	return err
}

// openLedger opens the chain, with or without its state, and adds it to the parts.
func (n *Node) openLedger(parts *role.Parts) error {
	if n.dir.Options().Chain.Stateless {
		l, err := n.dir.Stateless(n.config.Chain, n.book, n.engine, n.config.Proofs.Bits)
		if err != nil {
			return err
		}
		n.ledger, parts.Importer = l, replica.Stateless(l, len(n.config.Proofs.Lengths) > 0)
	} else {
		l, err := n.dir.Ledger(n.config.Chain, n.book, n.engine)
		if err != nil {
			return err
		}
		n.ledger, parts.Maker, parts.Importer = l, l, replica.Executing(l)
		n.load = l.Load
		n.opened("the state", l.Close)
	}
	n.ledger.Working(n.admission.Reserve)
	parts.Ledger = n.ledger
	return nil
}

// openRole opens the role, with the ledger that is in parts.
func (n *Node) openRole(parts role.Parts) (err error) {
	parts.Dir, parts.Store, parts.Book, parts.Proofs = n.dir, n.store, n.book, n.queue
	parts.Relay, parts.Unproven = n.config.Proofs.Relay, n.config.Proofs.Off
	parts.Mempool = mempool.Options{SyncJournal: n.config.SyncJournal, Log: n.config.Log, OnAccepted: n.pending.Add}
	parts.Program, parts.Log, parts.Telemetry = n.config.Build.Version, n.config.Log, n.telemetry
	parts.Public, parts.Enter = n.publicError, n.stage.enter
	if n.role, err = n.config.Role.Open(parts); err != nil {
		return err
	}
	n.opened("", n.role.Close)
	return nil
}

// openServers makes the public servers and opens the listener.
func (n *Node) openServers() (err error) {
	if n.rpc, err = n.newRPCServer(); err != nil {
		return err
	}
	n.push = n.newPush()
	if n.front, err = n.newFront(); err != nil {
		return err
	}
	n.registerMetrics()
	if n.listener, err = accept.Listen(n.config.RPCAddr, "--rpc-addr", n.config.Log); err != nil {
		return err
	}
	n.opened("connections", func() error {
		_ = n.listener.Close() // Serve has already closed it if the node ran
		return nil
	})
	return nil
}

// tipLedger is the ledger's interface to the chain's tip, with or without the state.
type tipLedger interface {
	rpc.Ledger
	mempool.Chain
	TreeSize() int
	Working(func(begins bool))
}
