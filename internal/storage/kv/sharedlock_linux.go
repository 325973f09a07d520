package kv

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ofdSetLock is Linux's F_OFD_SETLK. The lock belongs to the open file, so it also conflicts with locks of this
// process.
const ofdSetLock = 37

// Lock takes a read lock without writing anything. A directory without a lock file is not in use.
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
