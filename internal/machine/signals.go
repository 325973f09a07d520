package machine

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// CatchSignals takes signals away from the defaults of runtime and kernel, under which they end the process. It is
// called before anything else is done, and returns the SIGHUPs that come, at most one that waits; nil where whoever
// started the process has it ignore them (nohup).
//
// A write to a pipe that nobody reads, or beyond the largest size of a file, fails with an error from now on, on the
// standard streams too.
func CatchSignals() (hangups <-chan os.Signal) {
	signal.Notify(make(chan os.Signal, 1), failedWrites...)
	if signal.Ignored(syscall.SIGHUP) {
		return nil
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	return caught
}

// Serve makes the process a service: SIGUSR1, SIGUSR2 and output to the terminal of a job in the foreground neither end
// nor stop it. Where a goroutine panics the process ends by SIGABRT, without a core file, which would have its keys:
// the exit code of a panic is 2, and that is wrong usage. Who sets GOTRACEBACK decides that.
func Serve() {
	passOver()
	if os.Getenv("GOTRACEBACK") == "" && noCoreFile() == nil {
		debug.SetTraceback("crash")
	}
}
