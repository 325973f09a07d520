package kv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Lock locks a directory, which it creates if necessary, against other processes and other parts of this one until the
// lock is closed. It returns [ErrLocked] if the directory is in use. It leaves a file LOCK in the directory.
func Lock(dir string) (io.Closer, error) {
	if err := (FS{}).MakeDir(dir, 0o700); err != nil {
		return nil, err
	}
	return asCloser(lockDirectory(dir, vfs.Default))
}

// LockShared locks a directory against writers, but not against other readers, until the lock is closed. It changes
// nothing on the disk. It returns [ErrLocked] if the directory is locked with [Lock].
func LockShared(dir string) (io.Closer, error) {
	return asCloser(lockDirectory(dir, shared{vfs.Default}))
}

// asCloser prevents a nil lock from becoming a non-nil interface.
func asCloser(lock *pebble.Lock, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// lockDirectory locks a directory. It distinguishes a directory in use, which cannot be locked, from one whose lock
// file cannot be opened.
func lockDirectory(dir string, files vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, noted{files})
	var cannotOpen *fs.PathError
	switch {
	case err == nil:
		return lock, nil
	case errors.As(err, &cannotOpen):
		return nil, fmt.Errorf("lock directory: %w", err)
	default:
		return nil, fmt.Errorf("%w: %s (%v)", ErrLocked, dir, err)
	}
}

// shared is a file system whose locks are shared.
type shared struct{ vfs.FS }

// ours holds the absolute paths of the lock files that this process holds. If a process closes such a file, as after
// trying to lock it for reading, it loses its lock.
var ours sync.Map

var errOurs = errors.New("held by this process")

// noted is a file system that records its exclusive locks in ours.
type noted struct{ vfs.FS }

// Lock implements vfs.FS.
func (n noted) Lock(name string) (io.Closer, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	_, reads := n.FS.(shared)
	if _, held := ours.Load(path); held && reads {
		return nil, errOurs
	}
	lock, err := n.FS.Lock(name)
	if reads || err != nil {
		return lock, err
	}
	ours.Store(path, nil)
	return notedLock{lock, path}, nil
}

// notedLock is a lock that is recorded in ours.
type notedLock struct {
	io.Closer
	path string
}

// Close implements io.Closer.
func (l notedLock) Close() error {
	defer ours.Delete(l.path)
	return l.Closer.Close()
}
