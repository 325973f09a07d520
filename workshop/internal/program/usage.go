package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The functions below read Linux's /proc (proc(5)). On other systems their errors match [fs.ErrNotExist].

// tick is the unit of processor time in /proc: a hundredth of a second on every system supported by Go.
const tick = time.Second / 100

// Resident returns the resident memory of the process, in bytes.
func (p *Process) Resident() (uint64, error) { return p.memory("VmRSS:") }

// Peak returns the peak resident memory, in bytes, since [Process.ResetPeak] or the start of the process.
func (p *Process) Peak() (uint64, error) { return p.memory("VmHWM:") }

// ResetPeak restarts the measurement of [Process.Peak].
func (p *Process) ResetPeak() error { return os.WriteFile(p.proc("clear_refs"), []byte("5"), 0) }

// CPU returns the processor time used by all threads of the process.
func (p *Process) CPU() (time.Duration, error) {
	s, err := readStat(p.proc("stat"))
	return s.used, err
}

// ChildrenCPU returns the processor time used by the running child processes.
func (p *Process) ChildrenCPU() (used time.Duration, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		s, err := readStat(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return 0, err
		}
		if s.parent == p.command.Process.Pid {
			used += s.used
		}
	}
	return used, nil
}

func (p *Process) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", p.command.Process.Pid, file)
}

// memory returns a line of the process's status in bytes.
func (p *Process) memory(line string) (uint64, error) {
	status, err := os.ReadFile(p.proc("status"))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(status)) {
		if fields := strings.Fields(text); len(fields) == 3 && fields[0] == line && fields[2] == "kB" {
			kib, err := strconv.ParseUint(fields[1], 10, 54)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no line %s", p.proc("status"), line)
}

// stat is the content of a process's stat file in /proc.
type stat struct {
	parent int           // ID of the parent process
	used   time.Duration // processor time in user and kernel mode
}

func readStat(file string) (s stat, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	// The name may contain any character, and ends at the last bracket. After it come state, ppid, and as 12th and 13th
	// utime and stime.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return s, fmt.Errorf("%s: %q", file, text)
	}
	if s.parent, err = strconv.Atoi(fields[1]); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseUint(field, 10, 53)
		if err != nil {
			return s, fmt.Errorf("%s: %w", file, err)
		}
		s.used += time.Duration(ticks) * tick
	}
	return s, nil
}
