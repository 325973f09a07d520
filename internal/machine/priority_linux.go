package machine

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

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
