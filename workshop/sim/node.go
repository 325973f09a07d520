package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// node is a machine: a disk, with a process while it is up. Only the driver starts and stops processes.
type node struct {
	simulation *simulation
	name       string
	index      int
	haltFile   string // evidence of a halt; empty if the producer does not lie
	disk       *kv.CrashDisk
	process    *process     // nil while the machine is down
	serving    atomic.Value // *process: the one reachable over the network, dead or alive

	due    atomic.Pointer[fault]        // fault waiting for its block
	broken atomic.Bool                  // whether the disk refuses all writes
	stale  atomic.Pointer[kv.CrashDisk] // state of a disk that loses synced data, under ForgetsSyncs
	served types.Height                 // greatest height that the checker saw, which must not be lost
}

// process is a running node.
type process struct {
	node   *node
	db     *kv.DB
	store  *chain.Store
	ledger *ledger.Ledger
	pool   *mempool.Pool
	solo   *sequencer.Solo // for a primary; otherwise nil
	follow *replica.Replica
	sends  interface {
		AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result
	}
	unverified *overlay // blocks served by a bug; otherwise nil

	// The main goroutine, which runs until cancelled:
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan error

	// The end of the process:
	dead   atomic.Bool                  // it has crashed: its further actions have no effect
	left   atomic.Pointer[kv.CrashDisk] // disk as of the crash
	failed atomic.Bool                  // its disk has failed
	gone   atomic.Int64                 // time of its crash or stop, in ns of the run; 0: not yet
}

func newNode(w *simulation, index int) *node {
	n := &node{simulation: w, index: index, disk: kv.NewCrashDisk(), name: fmt.Sprint("replica ", index)}
	if index == 0 {
		n.name = "primary"
	}
	if w.lies != (lies{}) {
		n.haltFile = filepath.Join(w.setup.Dir, n.name+" halted.json")
	}
	n.watchDisk()
	return n
}

// reached returns the process that is reachable over the network, or nil.
func (n *node) reached() *process {
	p, _ := n.serving.Load().(*process)
	if p == nil || p.gone.Load() != 0 {
		return nil
	}
	return p
}

// leave makes the process unreachable.
func (p *process) leave() { p.gone.CompareAndSwap(0, int64(p.node.simulation.now())) }

// goneBefore reports whether the process was gone before a time. Its actions at the time of its end count as earlier.
func (p *process) goneBefore(at time.Duration) bool {
	gone := time.Duration(p.gone.Load())
	return gone != 0 && gone < at
}

// start starts the node on its disk.
func (n *node) start() (err error) {
	p := &process{node: n, ended: make(chan error, 1)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			p.cancel()
			err = errors.Join(err, p.close())
		}
	}()
	quiet := slog.New(slog.DiscardHandler)
	if p.db, err = kv.Open("db", kv.Options{
		FS: n.disk.FS(), CacheBytes: 16 << 20, MemTableBytes: 2 << 20, Logger: quiet,
	}); err != nil {
		return err
	}
	if err := n.sabotage(p.db); err != nil {
		return err
	}
	if p.store, err = chain.Open(p.db, chain.Options{Schedule: params.Prices.Digest()}); err != nil {
		return err
	}
	if p.ledger, err = ledger.Open(p.store, &n.simulation.genesis, nil, n.simulation.setup.Engine); err != nil {
		return err
	}
	if err := n.corrupt(p); err != nil {
		return err
	}
	if p.pool, err = mempool.New(mempool.Options{}, mempool.HeadOf(p.ledger)); err != nil {
		return err
	}
	var run func(context.Context) error
	if n.index == 0 {
		book, err := quarantine.Open(quarantine.Options{})
		if err != nil {
			return err
		}
		p.solo = sequencer.New(p.ledger, p.pool, book, sequencer.Local(n.simulation.producer), clock{}, blockTime)
		p.solo.OnBlock = p.built
		p.sends, run = p.pool, p.solo.Run
	} else if run, err = p.newReplica(slog.New(logHandler{p})); err != nil {
		return err
	}
	if n.index == 0 {
		if err := n.simulation.adopt(p); err != nil {
			return err
		}
	}
	n.process = p
	n.serving.Store(p)
	n.simulation.note("%s is up at %d", n.name, p.height())
	go func() { p.ended <- run(p.ctx) }()
	return nil
}

// newReplica returns the main function of a replica, with an order of preferred upstreams that differs between
// replicas.
func (p *process) newReplica(log *slog.Logger) (func(context.Context) error, error) {
	n := p.node
	config := replica.Config{
		Importer: replica.Executing(p.ledger), HaltFile: n.haltFile, Log: log, OnBlocks: p.imported, Jitter: n.jitter,
	}
	if n.simulation.setup.Bug == ServesUnverified || n.simulation.setup.Bug == SkipsRootCheck {
		p.unverified = newOverlay(p)
	}
	for i := range nodes {
		if other := n.simulation.nodes[(n.index*(nodes-1)+i)%nodes]; other != n {
			config.Sources = append(config.Sources, &link{simulation: n.simulation, from: p, to: other})
		}
	}
	var err error
	if p.follow, err = replica.New(config); err != nil {
		return nil, err
	}
	p.sends = replica.NewForwarder(p.follow, p.pool)
	return p.follow.Run, nil
}

// jitter returns up to a second, regardless of the node's wait. That wait may depend on whether a block of this very
// moment is already imported, which would make the run irreproducible. Only probes, which begin together with polls,
// have their own random numbers: otherwise both would continue at the same time.
func (n *node) jitter(d time.Duration) time.Duration {
	const probeInterval = 2 * time.Second
	return time.Millisecond + time.Duration(n.simulation.dice(n.name, "jitter", d == probeInterval).Int64N(int64(time.Second)))
}

// clock is the clock of the synctest bubble.
type clock struct{}

func (clock) Now() time.Time                         { return time.Now() }
func (clock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (clock) Wall() time.Time                        { return time.Now() }

// built is called for each block that the primary has on disk.
func (p *process) built(b ledger.Block) {
	p.written(b.Header.Header.Height)
	if !p.dead.Load() {
		p.node.simulation.note(
			"%s has built %4d, %s, with %d transactions", p.node.name, b.Header.Header.Height, b.Hash, len(b.Included),
		)
		p.node.simulation.wasBuilt(p, b)
	}
}

// errDead stops a replica whose machine has crashed: evidence of a halt that it wrote would survive the crash, which no
// file does.
var errDead = errors.New("the machine has crashed")

// imported is called with the blocks that a replica has on disk.
func (p *process) imported(blocks []ledger.Block) error {
	for _, b := range blocks {
		p.written(b.Header.Header.Height)
		if p.dead.Load() {
			return errDead
		}
		p.node.simulation.note("%s has imported %4d, %s", p.node.name, b.Header.Header.Height, b.Hash)
		if p.node.simulation.setup.Bug == Stumbles && b.Header.Header.Height%16 == 0 {
			return errors.New("a bug ends the replica")
		}
	}
	return p.pool.Reset(mempool.HeadOf(p.ledger), ledger.Accesses(blocks)...)
}

// stop stops the process as an operator does.
func (n *node) stop() {
	n.simulation.note("%s is stopped", n.name)
	if err := n.halt(); err != nil {
		n.simulation.violate(Running, "%s did not stop well: %v", n.name, err)
	}
}

// halt stops the process, if any, and returns its error.
func (n *node) halt() error {
	p := n.process
	if p == nil {
		return nil
	}
	n.due.Store(nil)
	n.broken.Store(false)
	n.process = nil
	p.leave()
	p.cancel()
	ended := <-p.ended
	synctest.Wait() // wait for requests in progress
	return errors.Join(ended, p.close())
}

// bury removes a process that has crashed, or stopped because of its disk. A process that stopped without a cause is a
// violation.
func (n *node) bury() {
	p := n.process
	if p == nil {
		return
	}
	switch {
	case p.dead.Load():
		if err := n.halt(); err != nil { // errors of a dead process do not matter
			n.simulation.note("%s was dead", n.name)
		}
		n.disk = p.left.Load()
		n.watchDisk()
	case len(p.ended) > 0:
		err := <-p.ended
		p.ended <- nil
		if !p.failed.Load() {
			n.simulation.violate(Running, "%s ended: %v", n.name, err)
		}
		closed := n.halt()
		n.simulation.note("%s has ended, for its disk %t, closed well %t", n.name, p.failed.Load(), closed == nil)
	}
}

// restart starts a node again.
func (n *node) restart() {
	if err := n.start(); err != nil {
		n.simulation.violate(Running, "%s does not start: %v", n.name, err)
	}
}

// close releases the resources of the process.
func (p *process) close() (err error) {
	if p.follow != nil {
		p.follow.Close()
	}
	if p.pool != nil {
		err = p.pool.Close()
		synctest.Wait() // goroutines that waited for the pool may still read the store
	}
	if p.store != nil {
		err = errors.Join(err, p.store.Close())
	}
	if p.db != nil {
		err = errors.Join(err, p.db.Close())
	}
	return err
}
