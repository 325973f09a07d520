//go:build !linux

package machine

import (
	"errors"
	"time"
)

// FileIdentity returns an error: this system does not identify files.
func FileIdentity(string) (inode, born uint64, err error) {
	return 0, 0, errors.New("file identities are supported on Linux only")
}

// LowerPriority returns an error: it is implemented for Linux only.
func LowerPriority() error { return errors.New("not supported on this system") }

// ThreadTime returns 0: the processor time of a thread is not known on this system.
func ThreadTime() time.Duration { return 0 }

// hangUp is the poll event of a connection whose other end sends no more. These systems report only a closed
// connection.
const hangUp = 0
