package program

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Halt stops the process where it is, until it gets SIGCONT. When Halt returns, no thread of it runs any more.
func (p *Process) Halt() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	// The parent is told when the last thread has stopped. One that ended is for Start to wait for.
	return unix.Waitid(unix.P_PID, p.command.Process.Pid, nil, unix.WSTOPPED, nil)
}
