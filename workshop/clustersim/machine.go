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
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// Files of a machine beside its database.
const (
	votesFile   = "vote.mark"
	headFile    = "head.mark"
	journalFile = "mempool.journal"
)

// compaction is when logs are cut here: often enough for a short run.
var compaction = cluster.Compaction{Every: 40, Keep: 80}

// machine is a disk and a clock, and the member that runs there while it is up.
type machine struct {
	*world
	index    int
	record   cluster.Record
	voter    bool // from the beginning
	disk     *kv.CrashDisk
	offset   time.Duration // of its clock
	slow     time.Duration // what a sync of its disk takes
	process  *process      // nil while it is down
	starts   uint64
	gone     bool   // for good
	astray   bool   // it has another producer's key
	unsigned bool   // its signer is not reached
	unable   string // what the machine lacks for the making of blocks
}

// newMachine makes a machine with an ID of its own.
func (w *world) newMachine(voter bool) *machine {
	index := len(w.machines)
	name := fmt.Sprint("member ", index)
	id := sha256.Sum256([]byte(name))
	m := &machine{
		world:  w,
		index:  index,
		record: cluster.Record{ID: binary.LittleEndian.Uint64(id[:]), Name: name, Keyed: true},
		voter:  voter,
		disk:   kv.NewCrashDisk(),
		slow:   time.Millisecond,
	}
	w.machines = append(w.machines, m)
	return m
}

// keyOf is the producer's key, or another one's.
func (m *machine) keyOf() crypto.PrivateKey {
	if m.astray {
		return newKey("another producer")
	}
	return m.producer
}

func (w *world) machineOf(id uint64) *machine {
	for _, m := range w.machines {
		if m.record.ID == id {
			return m
		}
	}
	return nil
}

// process is a member that runs. It is what the member acts on.
type process struct {
	*machine
	parts
	doom
	random  *mathrand.ChaCha8 // from which raft draws
	member  *cluster.Member
	stepped int         // messages that the present step has sent
	busy    [2]deferred // its workers
	loop    loop
	behind  bool // whether it fetches blocks
	ticks   int
	term    uint64
}

// parts are what a member is made of, in the order in which they are opened.
type parts struct {
	db     *kv.DB
	log    *raftlog.Log
	store  *chain.Store
	ledger *ledger.Ledger
	lock   *signstate.State
	times  *cluster.Clock
	pool   *mempool.Pool
}

// doom is how a process ends.
type doom struct {
	dead  bool          // it has crashed: nothing that it does counts
	dies  int           // at which of the next moments it dies; 0: at none
	power bool          // whether what was not synced is lost then
	left  *kv.CrashDisk // as it left it when it died
}

// loop has its member step.
type loop struct {
	until   time.Duration   // when the disk has done what it waits for
	waiting []cluster.Event // what has come meanwhile
}

// deferred is a worker.
type deferred struct {
	until time.Duration // when it has done what it was given
}

// begin brings all machines up on logs that begin with the genesis block.
func (w *world) begin() error {
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

// create makes the log of a machine: as of one of the first members, or one that waits to be added.
func (m *machine) create(members []cluster.Record) (err error) {
	db, err := m.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := chain.Open(db, chain.Options{Schedule: params.Schedule1.Digest()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l, err := ledger.Open(store, &m.genesis, nil, m.setup.Engine)
	if err != nil {
		return err
	}
	// What is added later waits at an entry that the others' log never reaches back to.
	at := cluster.Place{Head: cluster.Head{Hash: l.Tip().Hash}, Time: 1000 * m.genesis.Time, Members: members}
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

// start brings the machine up on what its disk holds.
func (m *machine) start() (err error) {
	m.starts++
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], m.setup.Seed)
	binary.LittleEndian.PutUint64(seed[8:], m.record.ID)
	binary.LittleEndian.PutUint64(seed[16:], m.starts)
	p := &process{machine: m, random: mathrand.NewChaCha8(seed), loop: loop{until: m.now}}
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
	withRandom(p.random, func() { p.member, err = cluster.Open(config, p) })
	if err != nil {
		return err
	}
	m.process = p
	m.note("%s is up at block %d", m.record.Name, p.ledger.Tip().Header.Header.Height)
	p.tick()
	return nil
}

// openParts opens what the member is made of.
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
	if p.store, err = chain.Open(p.db, chain.Options{Schedule: params.Schedule1.Digest()}); err != nil {
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
		Moment:  p.times.Now,
		Cluster: p.log.Member().Cluster,
		HeadAt:  func(h types.Height) (mempool.Head, error) { return mempool.HeadAt(p.ledger, h) },
		Expiry:  expiry,
	}
	if p.setup.Bug == ExpiresByClock {
		options.Moment = p.Wall
	}
	p.pool, err = mempool.New(options, mempool.HeadOf(p.ledger))
	return err
}

// config is how the member is opened.
func (p *process) config() (cluster.Config, error) {
	book, err := quarantine.Open(quarantine.Options{})
	return cluster.Config{
		Log:        p.log,
		Ledger:     p.ledger,
		Pool:       p.pool,
		Clock:      p.times,
		Picker:     sequencer.NewPicker(p.ledger, p.pool, book, hands{p}),
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

// flushTicks is after how many ticks the database is flushed: long before it is by itself, which no seed decides.
const flushTicks = 10

// tick has time pass for the member, until it ends.
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

// step has an event happen, once the loop has no other to do, together with those that came before and wait, too.
func (p *process) step(e cluster.Event) {
	if p.dead {
		return
	}
	if p.loop.waiting = append(p.loop.waiting, e); len(p.loop.waiting) == 1 {
		p.after(p.loop.until-p.now, p.stepAll)
	}
}

// stepAll has all happen that waits.
func (p *process) stepAll() {
	switch {
	case p.dead:
		return
	case p.loop.until > p.now:
		p.after(p.loop.until-p.now, p.stepAll)
		return
	}
	events := p.loop.waiting
	p.loop.waiting = nil
	switch err := p.try(events); {
	case p.dead:
		p.bury()
	case errors.Is(err, cluster.ErrRemoved):
		p.note("%s was removed", p.record.Name)
		p.gone = true
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

// try has events happen. A panic, which raft gives where its promises were broken, is an error.
func (p *process) try(events []cluster.Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a panic: %v", r)
		}
	}()
	p.stepped = 0
	withRandom(p.random, func() { err = p.member.Step(events...) })
	return err
}

// moment is one at which a machine may crash: between what its member does with disk, link and chain.
func (p *process) moment() bool {
	if p.dies > 0 && !p.dead {
		if p.dies--; p.dies == 0 {
			p.die(p.power)
		}
	}
	return p.dead
}

// die leaves a disk behind as the crash of a machine does, or, with its power, of a process: without what was not
// synced, or with all that was written. Whether the database's log has what it does not wait for in memory or in its
// file is a race, which a seed must not see. So all of it is in the file.
func (p *process) die(power bool) {
	p.dead, p.power = true, power
	kept := 0
	if !power {
		kept = 100
		if err := p.db.Sync(); err != nil {
			p.violate(Running, "%s cannot sync: %v", p.record.Name, err)
		}
	}
	synctest.Wait() // what is being written is
	p.left = p.disk.Crash(kept, 0)
}

// bury takes a dead process away; its machine comes back.
func (p *process) bury() {
	m := p.machine
	m.process = nil
	m.report.Crashes++
	m.note("%s has crashed, for its power %t", m.record.Name, p.power)
	p.close()
	m.disk = p.left
	m.comeBack()
}

// close releases what the process holds. What a dead one meets is of no account.
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
