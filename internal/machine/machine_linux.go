package machine

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// FileIdentity returns values that differ between a file and its copy: the inode number and the inode's birth time in
// nanoseconds of Unix time. born is 0 if the file system does not provide it (statx(2)).
func FileIdentity(path string) (inode, born uint64, err error) {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &stat); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	if stat.Mask&unix.STATX_BTIME != 0 {
		born = uint64(stat.Btime.Sec)*1e9 + uint64(stat.Btime.Nsec)
	}
	return stat.Ino, born, nil
}

// lowestPriority is the nice value that gets the least processor time.
const lowestPriority = 19

// LowerPriority gives all threads of the process the lowest priority. New threads inherit it from the thread that
// starts them. On Linux each thread has a priority of its own (setpriority(2)).
func LowerPriority() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return fmt.Errorf("thread %q: %w", thread.Name(), err)
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, lowestPriority); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("thread %d: %w", id, err)
		}
	}
	return nil
}

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
