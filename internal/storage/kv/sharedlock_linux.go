package kv

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ofdSetLock is Linux's F_OFD_SETLK: the lock is the open file's, so one of this process conflicts, too.
const ofdSetLock = 37

// Lock takes the lock for reading, without writing anything. A directory without a lock file is used by nobody.
func (s shared) Lock(name string) (io.Closer, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(file.Fd(), ofdSetLock, &lock); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
