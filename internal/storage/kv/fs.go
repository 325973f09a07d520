package kv

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is where a database keeps its files. The zero FS is the disk.
type FS struct {
	vfs vfs.FS
}

// Memory returns an empty file system in memory. Databases opened on it, one after the other, find what the last
// one left.
func Memory() FS { return FS{vfs.NewMem()} }

func (f FS) orDisk() vfs.FS {
	if f.vfs == nil {
		return vfs.Default
	}
	return f.vfs
}

// ordered has the entries of a directory on the disk before a marker file comes into it, by whose name Pebble knows its
// manifest. Pebble syncs both together: a machine that stops between may come back with the marker alone, and the
// database could not be opened any more.
//
// It tells failed of a log that cannot be written, too. Pebble learns in the background of a failure of batches that
// nobody waits for, and at the next one it ends the process.
type ordered struct {
	vfs.FS
	failed  func(error)
	damages *damages
}

// Open implements vfs.FS.
func (o ordered) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	file, err := o.FS.Open(name, options...)
	if err == nil && strings.HasSuffix(name, ".sst") {
		file = watchedTable{file, o.PathBase(name), o.damages}
	}
	return file, err
}

// Create implements vfs.FS.
func (o ordered) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(o.PathBase(name), "marker.") {
		if err := (FS{o.FS}).SyncDir(o.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return o.watch(name)(o.FS.Create(name, category))
}

// ReuseForWrite implements vfs.FS.
func (o ordered) ReuseForWrite(from, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return o.watch(name)(o.FS.ReuseForWrite(from, name, category))
}

// watch watches a file that was opened if it is a log.
func (o ordered) watch(name string) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err == nil && strings.HasSuffix(name, ".log") {
			file = watchedLog{file, o.failed}
		}
		return file, err
	}
}

// watchedLog is a log of writes that says when it cannot be written.
type watchedLog struct {
	vfs.File
	failed func(error)
}

func (l watchedLog) tell(err error) error {
	if err != nil {
		l.failed(err)
	}
	return err
}

// Write implements vfs.File.
func (l watchedLog) Write(b []byte) (int, error) {
	n, err := l.File.Write(b)
	return n, l.tell(err)
}

// Sync implements vfs.File.
func (l watchedLog) Sync() error { return l.tell(l.File.Sync()) }

// SyncData implements vfs.File.
func (l watchedLog) SyncData() error { return l.tell(l.File.SyncData()) }

// SyncTo implements vfs.File.
func (l watchedLog) SyncTo(length int64) (bool, error) {
	full, err := l.File.SyncTo(length)
	return full, l.tell(err)
}
