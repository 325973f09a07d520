package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Halt stops the process until it receives SIGCONT. When Halt returns, none of its threads is running.
func (p *Process) Halt() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	threads := fmt.Sprintf("/proc/%d/task/*/stat", p.command.Process.Pid)
	for {
		files, err := filepath.Glob(threads)
		if err != nil || len(files) == 0 {
			return errors.Join(errors.New("the process has no threads"), err)
		}
		if halted(files) {
			return nil
		}
		runtime.Gosched()
	}
}

// halted reports whether all threads are stopped or have ended (proc_pid_stat(5)).
func halted(files []string) bool {
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if _, state, ok := strings.Cut(string(stat), ") "); err == nil && ok && state[0] != 'T' {
			return false
		}
	}
	return true
}
