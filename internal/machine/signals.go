package machine

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// CatchSignals replaces the default actions of the runtime and the kernel for signals that would end the process. It
// must be called before anything else. The returned channel receives SIGHUPs and holds at most one. It is nil if the
// process was started with SIGHUP ignored (nohup).
//
// From then on, a write to a pipe without a reader, or beyond the maximum size of a file, fails with an error. This
// holds for the standard streams too.
func CatchSignals() (hangups <-chan os.Signal) {
	signal.Notify(make(chan os.Signal, 1), failedWrites...)
	if signal.Ignored(syscall.SIGHUP) {
		return nil
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	return caught
}

// Serve makes the process a service: SIGUSR1, SIGUSR2 and output to the terminal of a foreground job neither end nor
// stop it. On a panic the process ends by SIGABRT, because the exit code of a panic, 2, stands for wrong usage. It
// leaves no core file, which would contain its keys. The environment variable GOTRACEBACK, if set, takes precedence.
func Serve() {
	passOver()
	if os.Getenv("GOTRACEBACK") == "" && noCoreFile() == nil {
		debug.SetTraceback("crash")
	}
}
