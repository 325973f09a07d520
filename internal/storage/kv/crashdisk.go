package kv

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// CrashDisk is a disk in memory for tests: it knows what was synced, so that a test can see what a crash leaves,
// and it fails on demand.
type CrashDisk struct {
	memory     *vfs.MemFS
	onWrite    atomic.Pointer[func() error]
	onLogWrite atomic.Pointer[func() error]
}

// NewCrashDisk returns an empty disk.
func NewCrashDisk() *CrashDisk { return &CrashDisk{memory: vfs.NewCrashableMem()} }

// FS is the disk's file system.
func (d *CrashDisk) FS() FS {
	return FS{errorfs.Wrap(crashable{d.memory}, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f := d.onLogWrite.Load(); f != nil && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log") {
			if err := (*f)(); err != nil {
				return err
			}
		}
		if f := d.onWrite.Load(); f != nil && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			return (*f)()
		}
		return nil
	}))}
}

// crashable is a MemFS without the deadlock of its ReuseForWrite, which takes a read lock twice: a Crash that comes between
// waits for the first, and the second for the Crash.
type crashable struct{ *vfs.MemFS }

// ReuseForWrite implements vfs.FS.
func (c crashable) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := c.Rename(oldname, newname); err != nil {
		return nil, err
	}
	return c.OpenReadWrite(newname, category)
}

// OnLogWrite sets what is called before every write of a database on the disk to its log: during a commit, one or several
// times. An error becomes the write's. Nil sets nothing.
func (d *CrashDisk) OnLogWrite(f func() error) {
	if f == nil {
		d.onLogWrite.Store(nil)
		return
	}
	d.onLogWrite.Store(&f)
}

// OnWrite sets what is called before every operation that changes the disk: writing, syncing, creating, renaming,
// removing. It may be called from several goroutines at once. An error becomes the operation's. Nil sets nothing.
func (d *CrashDisk) OnWrite(f func() error) {
	if f == nil {
		d.onWrite.Store(nil)
		return
	}
	d.onWrite.Store(&f)
}

// Crash returns a disk as it may be found after a crash now: all that was synced, and each piece that was not with a
// probability of so many percent, drawn from the seed.
func (d *CrashDisk) Crash(unsyncedPercent int, seed uint64) *CrashDisk {
	return &CrashDisk{memory: d.memory.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: unsyncedPercent, RNG: rand.New(rand.NewPCG(seed, 0)),
	})}
}
