package kv

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system that holds a database. The zero FS is the disk.
type FS struct {
	vfs vfs.FS
}

// Memory returns an empty file system in memory. Its contents persist while databases on it are closed and reopened.
func Memory() FS { return FS{vfs.NewMem()} }

func (f FS) orDisk() vfs.FS {
	if f.vfs == nil {
		return vfs.Default
	}
	return f.vfs
}

// ordered syncs a directory's entries before a marker file is created in it; Pebble finds its manifest by the marker's
// name. Pebble itself syncs both together, so that a crash could leave the marker alone, and the database could no
// longer be opened.
//
// It also hides from Pebble that a log cannot be written. Pebble does not handle that: it panics while holding locks,
// or ends the process. Instead the database is marked as failed, and nothing more is written to a log, which stays as a
// crash would leave it. [DB.Commit] returns the failure.
type ordered struct {
	vfs.FS
	db *DB
}

// Open implements vfs.FS.
func (o ordered) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	file, err := o.FS.Open(name, options...)
	if err == nil && strings.HasSuffix(name, ".sst") {
		file = watchedTable{file, o.PathBase(name), &o.db.damages}
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
	if !strings.HasSuffix(name, ".log") {
		return o.FS.Create(name, category)
	}
	return o.log(nil, func() (vfs.File, error) { return o.FS.Create(name, category) })
}

// ReuseForWrite implements vfs.FS.
func (o ordered) ReuseForWrite(from, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !strings.HasSuffix(name, ".log") {
		return o.FS.ReuseForWrite(from, name, category)
	}
	info, err := o.FS.Stat(from)
	if err != nil {
		return nil, err
	}
	return o.log(info, func() (vfs.File, error) { return o.FS.ReuseForWrite(from, name, category) })
}

// OpenDir implements vfs.FS. Syncing the directory also syncs the names of logs.
func (o ordered) OpenDir(name string) (vfs.File, error) {
	dir, err := o.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return watchedLog{dir, o.db}, nil
}

// log opens a log, unless the database has failed: a log after one that was cut off would look like damage.
func (o ordered) log(info vfs.FileInfo, open func() (vfs.File, error)) (vfs.File, error) {
	if o.db.Failure() == nil {
		file, err := open()
		if err == nil {
			return watchedLog{file, o.db}, nil
		}
		o.db.noteLog(err)
	}
	return watchedLog{noFile{info: info}, o.db}, nil
}

// noFile stands in for a log that could not be opened.
type noFile struct {
	vfs.File
	info vfs.FileInfo
}

// Stat implements vfs.File.
func (n noFile) Stat() (vfs.FileInfo, error) { return n.info, nil }

// Close implements vfs.File.
func (noFile) Close() error { return nil }

// watchedLog is a write-ahead log. A failed write marks the database as failed, and after that the log is left alone.
type watchedLog struct {
	vfs.File
	db *DB
}

// try runs an operation on the file, unless the database has failed, and records its error.
func (l watchedLog) try(do func() error) error {
	if l.db.Failure() != nil {
		return nil
	}
	if err := do(); err != nil {
		l.db.noteLog(err)
	}
	return nil
}

// Write implements vfs.File.
func (l watchedLog) Write(b []byte) (int, error) {
	return len(b), l.try(func() error { _, err := l.File.Write(b); return err })
}

// Preallocate implements vfs.File. It ignores errors: without room, the write that needs it fails.
func (l watchedLog) Preallocate(offset, length int64) error {
	if l.db.Failure() == nil {
		_ = l.File.Preallocate(offset, length)
	}
	return nil
}

// Sync implements vfs.File.
func (l watchedLog) Sync() error { return l.try(l.File.Sync) }

// SyncData implements vfs.File.
func (l watchedLog) SyncData() error { return l.try(l.File.SyncData) }

// SyncTo implements vfs.File.
func (l watchedLog) SyncTo(length int64) (full bool, err error) {
	return full, l.try(func() error { full, err = l.File.SyncTo(length); return err })
}

// Prefetch implements vfs.File. It does nothing, since a log is not read.
func (watchedLog) Prefetch(int64, int64) error { return nil }

// Fd implements vfs.File.
func (l watchedLog) Fd() uintptr {
	if _, is := l.File.(noFile); is {
		return vfs.InvalidFd
	}
	return l.File.Fd()
}

// Close implements vfs.File.
func (l watchedLog) Close() error {
	if err := l.File.Close(); err != nil {
		l.db.noteLog(err)
	}
	return nil
}
