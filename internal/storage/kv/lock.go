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

// Lock keeps others from a directory, which it makes where there is none, until it is closed: other processes, and
// other parts of this one. It returns [ErrLocked] when the directory is in use, and leaves a file LOCK there.
func Lock(dir string) (io.Closer, error) {
	if err := (FS{}).MakeDir(dir, 0o700); err != nil {
		return nil, err
	}
	return asCloser(lockDirectory(dir, vfs.Default))
}

// LockShared keeps writers from a directory until it is closed, and no other reader. Nothing on the disk changes. It
// returns [ErrLocked] when somebody has the directory with [Lock].
func LockShared(dir string) (io.Closer, error) {
	return asCloser(lockDirectory(dir, shared{vfs.Default}))
}

// asCloser keeps a nil lock from becoming an interface that is not nil.
func asCloser(lock *pebble.Lock, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// lockDirectory tells a directory in use, where taking the lock fails, from one whose lock file cannot be opened.
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

// shared are files whose locks are for readers.
type shared struct{ vfs.FS }

// ours are the lock files that this process holds, by their absolute paths. A process that closes such a file, as after
// it tried to lock it for reading, gives its lock free.
var ours sync.Map

var errOurs = errors.New("this process has it")

// noted are files whose locks are noted in ours.
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

// notedLock is a lock that is noted in ours.
type notedLock struct {
	io.Closer
	path string
}

// Close implements io.Closer.
func (l notedLock) Close() error {
	defer ours.Delete(l.path)
	return l.Closer.Close()
}
