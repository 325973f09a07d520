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
// It keeps from Pebble that a log cannot be written, too, which it cannot bear: it panics with locks that it holds, or
// ends the process. The database has failed then, and nothing more is written to a log: what is there stays as a crash
// would leave it. [DB.Commit] tells whoever commits.
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

// OpenDir implements vfs.FS. The names of logs are synced with their directory.
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

// noFile is the file of a log that could not be opened.
type noFile struct {
	vfs.File
	info vfs.FileInfo
}

// Stat implements vfs.File.
func (n noFile) Stat() (vfs.FileInfo, error) { return n.info, nil }

// Close implements vfs.File.
func (noFile) Close() error { return nil }

// watchedLog is a log of writes that is left alone once the database has failed, as it does when a log cannot be
// written.
type watchedLog struct {
	vfs.File
	db *DB
}

// try does something with the file.
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

// Preallocate implements vfs.File. Without room the write fails that needs it.
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

// Prefetch implements vfs.File. A log is not read.
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
