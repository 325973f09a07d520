package clustersim

import (
	"context"
	"io/fs"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// The methods below implement cluster.Env.

func (p *process) Now() time.Time  { return began.Add(p.now) }
func (p *process) Wall() time.Time { return began.Add(p.now + p.offset) }

func (p *process) Offsets() (others map[uint64]time.Duration, own time.Duration) {
	others = make(map[uint64]time.Duration)
	for _, m := range p.machines {
		if m != p.machine && m.process != nil {
			others[m.record.ID] = m.offset - p.offset
		}
	}
	return others, 0
}

// Unfit returns the reasons that the other running members report.
func (p *process) Unfit() map[uint64]string {
	unfit := make(map[uint64]string)
	for _, m := range p.machines {
		if m != p.machine && m.process != nil {
			if reason := m.process.status().Unfit; reason != "" {
				unfit[m.record.ID] = reason
			}
		}
	}
	return unfit
}

// Send sends messages. The second messages of a step wait for the disk.
func (p *process) Send(messages []*raftpb.Message) {
	p.stepped++
	if p.stepped%2 == 0 {
		p.until = max(p.until, p.now) + p.slow
	}
	if p.moment() {
		return
	}
	for _, message := range messages {
		p.network.send(p.machine, message, max(0, p.until-p.now))
		if p.moment() {
			return
		}
	}
}

// Context never ends: the work of a process ends with its events.
func (*process) Context() context.Context { return context.Background() }

// Do runs work when its worker is free.
func (p *process) Do(w cluster.Worker, work func() cluster.Event) {
	start := p.now
	took := 100*time.Microsecond + p.upTo(3*time.Millisecond)
	if w == cluster.Executor {
		took += p.upTo(40 * time.Millisecond)
	}
	if w != cluster.Anyone {
		start = max(start, p.busy[w].until)
		p.busy[w].until = start + took
	}
	if p.dead {
		return
	}
	p.after(start-p.now, func() {
		if p.dead || p.moment() {
			p.ended()
			return
		}
		var e cluster.Event
		p.knowing(func() { e = work() })
		if p.moment() {
			p.ended()
			return
		}
		p.after(took, func() { p.step(e) })
	})
}

// ended buries a process that has died outside of its loop.
func (p *process) ended() {
	if p.process == p {
		p.bury()
	}
}

func (p *process) Forward(to uint64, encoded [][]byte, done func(cluster.Answer, error) cluster.Event) {
	call(p, to, func(other *process, told func(cluster.Answer, error)) {
		other.step(cluster.Sent(encoded, p.record.Name, true, func(_ []mempool.Result, a cluster.Answer) { told(a, nil) }))
	}, done)
}

func (p *process) Blocks(of uint64, from, to types.Height, done func([][]byte, error) cluster.Event) {
	call(p, of, func(other *process, told func([][]byte, error)) {
		told(cluster.BlocksOf(other.ledger, from, to, 64<<10))
	}, done)
}

func (p *process) Pending(of uint64, done func(cluster.Pending, error) cluster.Event) {
	call(p, of, func(other *process, told func(cluster.Pending, error)) {
		told(cluster.PendingOf(other.member.Status().Applied, other.pool, other.ledger))
	}, done)
}

// files is a machine's disk as used by a journal.
type files struct{ disk *kv.CrashDisk }

func (f files) Create(name string) (journal.File, error) { return asFile(f.disk.Create(name)) }
func (f files) Open(name string) (journal.File, error)   { return asFile(f.disk.Open(name)) }
func (f files) Rename(from, to string) error             { return f.disk.Rename(from, to) }
func (f files) Remove(name string) error                 { return f.disk.Remove(name) }
func (f files) SyncDir(dir string) error                 { return f.disk.FS().SyncDir(dir) }

// file is a file that is never truncated: a journal truncates only after a failed write.
type file struct{ kv.LogFile }

func asFile(f kv.LogFile, err error) (journal.File, error) {
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (file) Truncate(int64) error { return fs.ErrInvalid }

// hands is the clock for making blocks. It stands still while a block is made.
type hands struct{ *process }

func (hands) After(time.Duration) <-chan time.Time { return nil }
