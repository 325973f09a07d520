//go:build !unix

package machine

import (
	"os"
	"syscall"
)

var failedWrites = []os.Signal{syscall.SIGPIPE}

func passOver() {}

func noCoreFile() error { return ErrUnknown }
