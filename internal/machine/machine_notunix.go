//go:build !unix

package machine

import (
	"os"
	"syscall"
)

// openFilesLimit returns [ErrUnknown] on this system.
func openFilesLimit() (uint64, error) { return 0, ErrUnknown }

// Disk returns [ErrUnknown] on this system.
func Disk(string) (size, free uint64, err error) { return 0, 0, ErrUnknown }

// Gone reports whether the other end has closed the connection. It is always false on this system.
func Gone(syscall.Conn) bool { return false }

// Owner returns [ErrUnknown] on this system.
func Owner(string) (user, group int, err error) { return 0, 0, ErrUnknown }

var failedWrites = []os.Signal{syscall.SIGPIPE}

func passOver() {}

func noCoreFile() error { return ErrUnknown }
