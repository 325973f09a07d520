package kv

import (
	"io"
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

// crashable is a MemFS without the deadlock of its ReuseForWrite, which takes a read lock twice. A Crash that comes
// between waits for the first, and the second waits for the Crash.
type crashable struct{ *vfs.MemFS }

// ReuseForWrite implements vfs.FS.
func (c crashable) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := c.Rename(oldname, newname); err != nil {
		return nil, err
	}
	return c.OpenReadWrite(newname, category)
}

// OnLogWrite sets what is called before every write of a database on the disk to its log: during a commit, one or
// several times. An error becomes the write's. Nil sets nothing.
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

// Crash returns a disk as it may be found after a crash now. It has all that was synced, and each piece that was not
// with a probability in percent, drawn from the seed.
func (d *CrashDisk) Crash(unsyncedPercent int, seed uint64) *CrashDisk {
	return &CrashDisk{memory: d.memory.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: unsyncedPercent, RNG: rand.New(rand.NewPCG(seed, 0)),
	})}
}

// LogFile is a file of a [CrashDisk] that is written at its end.
type LogFile interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Sync() error
}

// Create makes an empty file, instead of one that is there.
func (d *CrashDisk) Create(path string) (LogFile, error) {
	files := d.FS().vfs
	if _, err := files.Stat(path); err == nil {
		if err := files.Remove(path); err != nil {
			return nil, err
		}
	}
	return files.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
}

// Open opens a file for reading; the error of an absent one wraps fs.ErrNotExist.
func (d *CrashDisk) Open(path string) (LogFile, error) { return d.FS().vfs.Open(path) }

// Rename renames a file, instead of one that is there.
func (d *CrashDisk) Rename(from, to string) error { return d.FS().vfs.Rename(from, to) }

// Remove removes a file.
func (d *CrashDisk) Remove(path string) error { return d.FS().vfs.Remove(path) }

// Flush makes a sorted file of what was written and begins another log, for a simulation that has to do so always at
// the same event. By itself a database does it when memory is full, of which its nodes take a random part.
func (db *DB) Flush() error { return db.pebble.Flush() }
