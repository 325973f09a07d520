package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// hangUp is the poll event of a connection whose other end sends no more.
const hangUp = unix.POLLRDHUP

// ThreadTime returns the processor time that the calling thread has used, or 0 if it is not known. The caller must be
// locked to its thread.
func ThreadTime() time.Duration {
	var used unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) != nil {
		return 0
	}
	return time.Duration(used.Nano())
}
