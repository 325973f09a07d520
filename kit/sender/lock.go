package sender

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// acquireLock makes a file that names this process as the only user of a journal. It replaces the file of a process
// that no longer runs.
func acquireLock(path string) (err error) {
	mine := fmt.Sprintf("%s.%d.%s", path, os.Getpid(), rand.Text())
	holder := fmt.Sprintf("%d %s\n", os.Getpid(), startOf(os.Getpid()))
	if err := os.WriteFile(mine, []byte(holder), 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(mine)) }()
	for {
		err := os.Link(mine, path)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case isAlive(string(text)):
			return fmt.Errorf("%s: %w: process %s", path, ErrLocked, bytes.TrimSpace(text))
		}
		if err := removeStale(path, text, mine+".stale"); err != nil {
			return err
		}
	}
}

// removeStale removes a stale lock. If another process has replaced it in the meantime, that one is restored.
func removeStale(path string, stale []byte, aside string) error {
	if err := os.Rename(path, aside); err != nil {
		return ignoring(err, fs.ErrNotExist)
	}
	found, err := os.ReadFile(aside)
	if err == nil && !bytes.Equal(found, stale) {
		err = os.Link(aside, path)
	}
	return errors.Join(err, os.Remove(aside))
}

func ignoring(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// isAlive reports whether the process that a lock names, by its id and start time, is running.
func isAlive(holder string) bool {
	number, start, _ := strings.Cut(strings.TrimSpace(holder), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }() // it holds nothing that could fail to be released
	return !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) && startOf(pid) == start
}

// startOf returns the start time of a process, in clock ticks since boot, which distinguishes it from a later process
// with the same id. It returns a dash if the time is unknown.
func startOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "-" // no Linux, or the process is just gone
	}
	// The name in brackets may have spaces.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const start = 22 - 3 // field 22 of proc(5), of those from the third on
	if len(fields) <= start {
		return "-"
	}
	return fields[start]
}
