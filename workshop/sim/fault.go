package sim

import (
	"errors"

	"github.com/cairn-chain/cairn/types"
)

// faultKind is a fault of a machine at a block.
type faultKind string

// The kinds of faults. They strike at blocks, not after a number of writes, as the number of writes per commit depends
// on the database.
const (
	crashBefore faultKind = "crash while the block is written, of which nothing is on disk then"
	crashAfter  faultKind = "crash when the block is on disk, before anyone is told of it"
	diskFails   faultKind = "refuse all writes from the block on"
)

// fault strikes at the first block that the process writes from a height on.
type fault struct {
	kind    faultKind
	process *process
	height  types.Height
}

// failAt schedules a fault for one of the next blocks.
func (n *node) failAt(kind faultKind, ahead types.Height) {
	f := &fault{kind, n.process, n.process.store.Head().Header.Height + ahead}
	n.simulation.note("%s will %s, %d", n.name, kind, f.height)
	n.due.Store(f)
}

var errDisk = errors.New("the disk fails")

// watchDisk makes the disk fail when its fault is due.
func (n *node) watchDisk() {
	n.disk.OnWrite(func() error {
		if n.broken.Load() {
			return errDisk
		}
		return nil
	})
	n.disk.OnLogWrite(func() error {
		f := n.due.Load()
		if f == nil || f.kind == crashAfter || f.process.store.Head().Header.Height+1 < f.height ||
			!n.due.CompareAndSwap(f, nil) {
			return nil
		}
		if f.kind == crashBefore {
			n.die(f.process)
			return nil
		}
		f.process.failed.Store(true)
		n.broken.Store(true)
		return nil // OnWrite refuses it
	})
}

// written is called when a block is on disk, before any further use of it.
func (p *process) written(h types.Height) {
	n := p.node
	if n.simulation.setup.Bug == ForgetsSyncs && h%4 == 0 {
		n.stale.Store(n.disk.Crash(0, 0))
	}
	if f := n.due.Load(); f != nil && f.process == p && f.kind == crashAfter && h >= f.height &&
		n.due.CompareAndSwap(f, nil) {
		n.die(p)
	}
}

// crash crashes the process now.
func (n *node) crash() {
	n.simulation.note("%s crashes", n.name)
	n.die(n.process)
	n.bury()
}

// die leaves behind the disk after a crash at this moment: only synced data.
func (n *node) die(p *process) {
	left := n.disk.Crash(0, 0)
	if stale := n.stale.Load(); stale != nil {
		left = stale
	}
	p.left.Store(left)
	p.dead.Store(true)
	p.leave()
	n.simulation.count(func(r *Report) *int { return &r.Crashes })
}
