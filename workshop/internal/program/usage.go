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

// What follows is read from Linux's /proc (proc(5)); elsewhere the errors are [fs.ErrNotExist]'s.

// tick is the unit of processor time in /proc: a hundredth of a second on every system that Go runs on.
const tick = time.Second / 100

// Resident is the memory in bytes that the process has resident.
func (p *Process) Resident() (uint64, error) { return p.memory("VmRSS:") }

// Peak is the most memory in bytes that the process had resident, since [Process.ResetPeak] or its start.
func (p *Process) Peak() (uint64, error) { return p.memory("VmHWM:") }

// ResetPeak makes [Process.Peak] count from now on.
func (p *Process) ResetPeak() error { return os.WriteFile(p.proc("clear_refs"), []byte("5"), 0) }

// CPU is the processor time that the process used, of all its threads.
func (p *Process) CPU() (time.Duration, error) {
	s, err := readStat(p.proc("stat"))
	return s.used, err
}

// ChildrenCPU is the processor time that the processes used which this one started and which run.
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

// memory is a line of the process's status in bytes.
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

// stat is what a process's line in /proc says.
type stat struct {
	parent int           // the id of the process that started it
	used   time.Duration // of the processor, in user and kernel mode
}

func readStat(file string) (s stat, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	// The name, which may have anything in it, ends at the last bracket. Behind it: state, ppid, and utime and stime as
	// the 12th and 13th.
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
