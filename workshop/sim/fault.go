package sim

import (
	"errors"

	"github.com/cairn-chain/cairn/types"
)

// faultKind is what befalls a machine at a block.
type faultKind string

// The faults. They come at blocks, not after some number of writes: how many writes a commit takes is the database's.
const (
	crashBefore faultKind = "crash while the block is written, of which nothing is on disk then"
	crashAfter  faultKind = "crash when the block is on disk, before anyone is told of it"
	diskFails   faultKind = "refuse all writes from the block on"
)

// fault comes at the first block from a height on that the process writes.
type fault struct {
	kind    faultKind
	process *process
	height  types.Height
}

// failAt lets a fault come at one of the next blocks.
func (n *node) failAt(kind faultKind, ahead types.Height) {
	f := &fault{kind, n.process, n.process.store.Head().Header.Height + ahead}
	n.world.note("%s will %s, %d", n.name, kind, f.height)
	n.due.Store(f)
}

var errDisk = errors.New("the disk fails")

// watchDisk has the disk fail when its time has come.
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

// written is called when a block is on disk, before anything else is done with it.
func (p *process) written(h types.Height) {
	n := p.node
	if n.world.setup.Bug == ForgetsSyncs && h%4 == 0 {
		n.stale.Store(n.disk.Crash(0, 0))
	}
	if f := n.due.Load(); f != nil && f.process == p && f.kind == crashAfter && h >= f.height &&
		n.due.CompareAndSwap(f, nil) {
		n.die(p)
	}
}

// crash ends the process now.
func (n *node) crash() {
	n.world.note("%s crashes", n.name)
	n.die(n.process)
	n.bury()
}

// die leaves a disk behind as a crash at this moment does: with what was synced.
func (n *node) die(p *process) {
	left := n.disk.Crash(0, 0)
	if stale := n.stale.Load(); stale != nil {
		left = stale
	}
	p.left.Store(left)
	p.dead.Store(true)
	p.leave()
	n.world.count(func(r *Report) *int { return &r.Crashes })
}
