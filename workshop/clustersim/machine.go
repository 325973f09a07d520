package clustersim

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"testing/synctest"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// Files of a machine besides its database.
const (
	votesFile   = "vote.mark"
	headFile    = "head.mark"
	journalFile = "mempool.journal"
)

// compaction cuts logs often enough for a short run.
var compaction = cluster.Compaction{Every: 40, Keep: 80}

// machine is a disk and a clock, with a member while it is up.
type machine struct {
	*simulation
	index    int
	record   cluster.Record
	voter    bool // from the beginning
	disk     *kv.CrashDisk
	offset   time.Duration // error of its clock
	slow     time.Duration // duration of a disk sync
	process  *process      // nil while it is down
	starts   uint64
	gone     bool   // lost for good
	astray   bool   // it has a wrong producer key
	unsigned bool   // its signer is unreachable
	unable   string // reason why the machine cannot make blocks
	newer    bool   // its program, from the next start on, knows the next version of the protocol
}

// newMachine returns a machine with a unique ID.
func (w *simulation) newMachine(voter bool) *machine {
	index := len(w.machines)
	name := fmt.Sprint("member ", index)
	id := sha256.Sum256([]byte(name))
	m := &machine{
		simulation: w,
		index:      index,
		record:     cluster.Record{ID: binary.LittleEndian.Uint64(id[:]), Name: name, Keyed: true},
		voter:      voter,
		disk:       kv.NewCrashDisk(),
		slow:       time.Millisecond,
		newer:      w.setup.Upgrade > 0 && index%2 == 0,
	}
	w.machines = append(w.machines, m)
	return m
}

// keyOf returns the producer's key, or a wrong one if the machine is astray.
func (m *machine) keyOf() crypto.PrivateKey {
	if m.astray {
		return newKey("another producer")
	}
	return m.producer
}

func (w *simulation) machineOf(id uint64) *machine {
	for _, m := range w.machines {
		if m.record.ID == id {
			return m
		}
	}
	return nil
}

// process is a running member, and the environment in which it acts.
type process struct {
	*machine

	// The components of a member, in the order in which they are opened:
	db     *kv.DB
	log    *raftlog.Log
	store  *chain.Store
	ledger *ledger.Ledger
	lock   *signstate.State
	times  *cluster.Clock
	pool   *mempool.Pool

	// The end of the process:
	dead  bool          // it has crashed: its actions have no effect
	dies  int           // number of crash points until it dies; 0: it does not
	power bool          // whether unsynced data is lost
	left  *kv.CrashDisk // disk as of the crash

	random  *mathrand.ChaCha8 // raft's source of randomness
	member  *cluster.Member
	stepped int         // messages sent in the current step
	busy    [2]deferred // its workers

	// The loop that runs the steps of the member:
	until   time.Duration   // end of the disk operation that it waits for
	waiting []cluster.Event // events that arrived meanwhile

	behind bool // whether it is fetching blocks
	newer  bool // whether it knows the next version of the protocol
	ticks  int
	term   uint64
}

// deferred is a worker.
type deferred struct {
	until time.Duration // end of its current work
}

// begin starts all machines with logs that begin at the genesis block.
func (w *simulation) begin() error {
	var members []cluster.Record
	for range w.setup.Members {
		members = append(members, w.newMachine(true).record)
	}
	for _, m := range w.machines {
		if err := m.create(members); err != nil {
			return err
		}
		if err := m.start(); err != nil {
			return err
		}
	}
	return nil
}

// create creates the log of a machine: of an initial member, or of one that waits to be added.
func (m *machine) create(members []cluster.Record) (err error) {
	db, err := m.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l, err := ledger.Open(store, &m.genesis, nil, m.setup.Engine)
	if err != nil {
		return err
	}
	// A member added later waits at an index that the others' log never reaches back to.
	at := cluster.Place{Head: cluster.Head{Hash: l.Tip().Hash}, Time: m.genesis.Time, Members: members}
	index, term, conf := uint64(1), uint64(0), &raftpb.ConfState{}
	if m.voter {
		index, term = 2, 1
		for _, r := range members {
			conf.Voters = append(conf.Voters, r.ID)
		}
	}
	return raftlog.Create(db, m.disk.FS(), votesFile, raftlog.Member{Cluster: [16]byte{1}, ID: m.record.ID},
		&raftpb.Snapshot{
			Data:     at.Encode(),
			Metadata: &raftpb.SnapshotMetadata{Index: &index, Term: &term, ConfState: conf},
		})
}

func (m *machine) open() (*kv.DB, error) {
	quiet := slog.New(slog.DiscardHandler)
	return kv.Open("db", kv.Options{FS: m.disk.FS(), CacheBytes: 4 << 20, MemTableBytes: 1 << 20, Logger: quiet})
}

// start starts the machine from the contents of its disk.
func (m *machine) start() (err error) {
	m.starts++
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], m.setup.Seed)
	binary.LittleEndian.PutUint64(seed[8:], m.record.ID)
	binary.LittleEndian.PutUint64(seed[16:], m.starts)
	p := &process{machine: m, random: mathrand.NewChaCha8(seed), until: m.now, newer: m.newer}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err = p.openParts(); err != nil {
		return err
	}
	config, err := p.config()
	if err != nil {
		return err
	}
	withRandom(p.random, func() { p.knowing(func() { p.member, err = cluster.Open(config, p) }) })
	if err != nil {
		return err
	}
	m.process = p
	m.note("%s is up at block %d", m.record.Name, p.ledger.Tip().Header.Header.Height)
	p.tick()
	return nil
}

// openParts opens the components of the member.
func (p *process) openParts() (err error) {
	if p.db, err = p.open(); err != nil {
		return err
	}
	if p.log, err = raftlog.Open(p.db, p.disk.FS(), votesFile); err != nil {
		return err
	}
	if err = p.remembers(p.log); err != nil {
		return err
	}
	if p.store, err = chain.Open(p.db, chain.Options{Schedule: params.Prices.Digest()}); err != nil {
		return err
	}
	if p.ledger, err = ledger.Open(p.store, nil, nil, p.setup.Engine); err != nil {
		return err
	}
	genesis, err := p.ledger.Header(0)
	if err != nil {
		return err
	}
	if p.lock, err = signstate.Open(p.disk.FS(), headFile, genesis.Header.Hash()); err != nil {
		return err
	}
	if p.times, err = cluster.OpenClock(p.log); err != nil {
		return err
	}
	options := mempool.Options{
		Journal: journalFile,
		FS:      files{p.disk},
		Now:     p.Wall,
		Clock:   p.times.Now,
		Cluster: p.log.Member().Cluster,
		HeadAt:  func(h types.Height) (mempool.Head, error) { return mempool.HeadAt(p.ledger, h) },
		Expiry:  expiry,
	}
	if p.setup.Bug == ExpiresByClock {
		options.Clock = p.Wall
	}
	p.pool, err = mempool.New(options, mempool.HeadOf(p.ledger))
	return err
}

// config returns the configuration of the member.
func (p *process) config() (cluster.Config, error) {
	book, err := quarantine.Open(quarantine.Options{})
	return cluster.Config{
		Log:        p.log,
		Ledger:     p.ledger,
		Pool:       p.pool,
		Clock:      p.times,
		Selector:   sequencer.NewSelector(p.ledger, p.pool, book, hands{p}),
		Producers:  []types.PublicKey{p.keyOf().PublicKey()},
		Sign:       p.sign,
		Unable:     func() string { return p.unable },
		BlockTime:  blockTime,
		OnBlock:    p.released,
		OnTxBatch:  func(took time.Duration) { p.book.batches = append(p.book.batches, took) },
		OnRelease:  func(took time.Duration) { p.book.releases = append(p.book.releases, took) },
		Compaction: compaction,
		Logger:     slog.New(slog.DiscardHandler),
	}, err
}

// flushTicks is the number of ticks between database flushes. It is low enough that the database never flushes by
// itself, which would not be determined by the seed.
const flushTicks = 10

// tick ticks the member until the process ends.
func (p *process) tick() {
	p.after(cluster.TickTime, func() {
		if p.dead {
			return
		}
		if p.ticks++; p.ticks%flushTicks == 0 {
			if err := p.db.Flush(); err != nil {
				p.violate(Running, "%s cannot flush: %v", p.record.Name, err)
			}
		}
		p.step(cluster.Tick())
		p.tick()
	})
}

// step handles an event once the loop is idle, together with earlier events that wait.
func (p *process) step(e cluster.Event) {
	if p.dead {
		return
	}
	if p.waiting = append(p.waiting, e); len(p.waiting) == 1 {
		p.after(p.until-p.now, p.stepAll)
	}
}

// stepAll handles all waiting events.
func (p *process) stepAll() {
	switch {
	case p.dead:
		return
	case p.until > p.now:
		p.after(p.until-p.now, p.stepAll)
		return
	}
	events := p.waiting
	p.waiting = nil
	switch err := p.try(events); {
	case p.dead:
		p.bury()
	case errors.Is(err, cluster.ErrRemoved):
		p.note("%s was removed", p.record.Name)
		p.gone = true
		p.die(false)
		p.bury()
	case errors.Is(err, exec.ErrUnknownVersion) && !p.newer && p.setup.Upgrade > 0:
		p.note("%s halts: %v", p.record.Name, err)
		p.report.Halts++
		p.machine.newer = p.chance(50) && !p.stubborn // an operator installs the new program before the next start
		p.die(false)
		p.bury()
	case err != nil:
		p.violate(Running, "%s ends: %v", p.record.Name, err)
		p.die(true)
		p.bury()
	default:
		p.observe()
	}
}

// try handles events. It returns an error if raft panics, as it does when its promises were broken.
func (p *process) try(events []cluster.Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a panic: %v", r)
		}
	}()
	p.stepped = 0
	withRandom(p.random, func() { p.knowing(func() { err = p.member.Step(events...) }) })
	return err
}

// moment is a crash point, between actions of the member on disk, link and chain. It reports whether the process has
// died.
func (p *process) moment() bool {
	if p.dies > 0 && !p.dead {
		if p.dies--; p.dies == 0 {
			p.die(p.power)
		}
	}
	return p.dead
}

// die leaves behind the disk after a crash: of the machine, without unsynced data, or of the process, with all written
// data. Whether unsynced log data of the database is in memory or in the file is a race that must not affect a run, so
// it is flushed to the file first.
func (p *process) die(power bool) {
	p.dead, p.power = true, power
	kept := 0
	if !power {
		kept = 100
		if err := p.db.Sync(); err != nil {
			p.violate(Running, "%s cannot sync: %v", p.record.Name, err)
		}
	}
	synctest.Wait() // pending writes have finished
	p.left = p.disk.Crash(kept, 0)
}

// bury removes a dead process. Its machine comes back.
func (p *process) bury() {
	m := p.machine
	m.process = nil
	m.report.Crashes++
	m.note("%s has crashed, for its power %t", m.record.Name, p.power)
	p.close()
	m.disk = p.left
	m.comeBack()
}

// close releases the resources of the process. Errors of a dead process are ignored.
func (p *process) close() {
	var err error
	if p.pool != nil {
		err = errors.Join(err, p.pool.Close())
	}
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
	}
	if p.store != nil {
		err = errors.Join(err, p.store.Close())
	}
	if p.db != nil {
		err = errors.Join(err, p.db.Close())
	}
	if err != nil && !p.dead {
		p.violate(Running, "%s does not end well: %v", p.record.Name, err)
	}
}
