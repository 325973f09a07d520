package kv

import (
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// CrashDisk is an in-memory disk for tests. It tracks the synced data, so that a test can simulate a crash, and it
// fails on demand.
type CrashDisk struct {
	memory     *vfs.MemFS
	onWrite    atomic.Pointer[func() error]
	onLogWrite atomic.Pointer[func() error]
}

// NewCrashDisk returns an empty disk.
func NewCrashDisk() *CrashDisk { return &CrashDisk{memory: vfs.NewCrashableMem()} }

// FS returns the disk's file system.
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

// crashable is a MemFS without the deadlock in its ReuseForWrite, which takes a read lock twice: a Crash in between
// waits for the first lock, and the second lock waits for the Crash.
type crashable struct{ *vfs.MemFS }

// ReuseForWrite implements vfs.FS.
func (c crashable) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := c.Rename(oldname, newname); err != nil {
		return nil, err
	}
	return c.OpenReadWrite(newname, category)
}

// OnLogWrite sets a function that is called before every write to a database's log on the disk, once or several times
// per commit. If it returns an error, the write fails with it. A nil f removes the function.
func (d *CrashDisk) OnLogWrite(f func() error) {
	if f == nil {
		d.onLogWrite.Store(nil)
		return
	}
	d.onLogWrite.Store(&f)
}

// OnWrite sets a function that is called before every operation that changes the disk: writing, syncing, creating,
// renaming, removing. It must be safe for concurrent use. If it returns an error, the operation fails with it. A nil f
// removes the function.
func (d *CrashDisk) OnWrite(f func() error) {
	if f == nil {
		d.onWrite.Store(nil)
		return
	}
	d.onWrite.Store(&f)
}

// Crash returns a disk in the state that a crash at this moment could leave. It has all synced data, and each unsynced
// piece with a probability in percent, drawn from the seed.
func (d *CrashDisk) Crash(unsyncedPercent int, seed uint64) *CrashDisk {
	return &CrashDisk{memory: d.memory.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: unsyncedPercent, RNG: rand.New(rand.NewPCG(seed, 0)),
	})}
}

// LogFile is a file of a [CrashDisk] that is appended to.
type LogFile interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Sync() error
}

// Create creates an empty file, replacing any existing one.
func (d *CrashDisk) Create(path string) (LogFile, error) {
	files := d.FS().vfs
	if _, err := files.Stat(path); err == nil {
		if err := files.Remove(path); err != nil {
			return nil, err
		}
	}
	return files.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
}

// Open opens a file for reading. The error for an absent file wraps fs.ErrNotExist.
func (d *CrashDisk) Open(path string) (LogFile, error) { return d.FS().vfs.Open(path) }

// Rename renames a file, replacing any existing one.
func (d *CrashDisk) Rename(from, to string) error { return d.FS().vfs.Rename(from, to) }

// Remove removes a file.
func (d *CrashDisk) Remove(path string) error { return d.FS().vfs.Remove(path) }

// Flush writes the memtable to a table and starts a new log. Simulations call it to make flushes happen at a fixed
// event: a database by itself flushes when the memtable is full, which varies with the random size of the memtable's
// nodes.
func (db *DB) Flush() error { return db.pebble.Flush() }
