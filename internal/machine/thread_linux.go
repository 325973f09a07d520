package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// hangUp is the event of a connection whose other end sends no more.
const hangUp = unix.POLLRDHUP

// ThreadTime is the processor time that the calling thread has used, 0 where that is not known. It means something only
// to a goroutine that is locked to its thread.
func ThreadTime() time.Duration {
	var used unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) != nil {
		return 0
	}
	return time.Duration(used.Nano())
}
