package node

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"syscall"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/accept"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/sources"
	"github.com/cairn-chain/cairn/types"
)

// New makes a node of a data directory, which it closes from now on, and opens the listeners. [Node.Run] does the rest;
// a node that is not run must be closed.
func New(dir *datadir.Dir, config Config) (_ *Node, err error) {
	config.Mode = cmp.Or(config.Mode, api.ModePrimary)
	if config.Files == nil {
		config.Files = reload.NewSet(config.Log)
	}
	n := &Node{config: config, dir: dir, servers: servers{admin: config.Admin}}
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
	if err := n.openToken(); err != nil {
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
	n.admission = admission.New(runtime.GOMAXPROCS(0))
	n.ledger.Working(n.admission.Reserve)
	if n.rpc, err = n.newRPCServer(); err != nil {
		return nil, err
	}
	n.push = n.newPush()
	if n.front, err = n.newFront(); err != nil {
		return nil, err
	}
	if n.listener, err = listen(config.RPCAddr, "--rpc-addr", config.Log); err != nil {
		return nil, err
	}
	if n.admin == nil {
		n.admin, err = ListenAdmin(config.AdminAddr, nil, config.Build, config.Log)
	}
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
func listen(address, flag string, log *slog.Logger) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf(
			"%s %s is in use by another program, perhaps another node: end that, or choose another address", flag, address,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return accept.Patient(listener, log), nil
}

// tipLedger is the chain's tip, with its state or without.
type tipLedger interface {
	rpc.Ledger
	mempool.Chain
	TreeSize() int
	Working(func(begins bool))
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
