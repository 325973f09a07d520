//go:build unix

package machine

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

var failedWrites = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

func passOver() { signal.Ignore(syscall.SIGTTOU, syscall.SIGUSR1, syscall.SIGUSR2) }

// noCoreFile prevents a core file when a signal ends the process.
func noCoreFile() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
