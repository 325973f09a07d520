package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// Limits of the process that measures a candidate.
const (
	mostMemory = 1_500 << 20      // resident bytes of one node
	mostTime   = 90 * time.Second // processor time of one node, so that other load causes no faults
	mostWait   = 20 * mostTime    // wall-clock time
)

// memoryFor returns the limit of resident memory, in bytes, for an objective. Comparing nodes needs two at once, each
// with its database in memory.
func memoryFor(objective string) int {
	if objective == "differ" {
		return 2 * mostMemory
	}
	return mostMemory
}

// timeFor returns the limit of processor time for an objective. When nodes are compared, each compiles the machine
// code.
func timeFor(objective string) time.Duration {
	if objective == "differ" {
		return time.Duration(1+len(hunt.Nodes)) * mostTime
	}
	return mostTime
}

// process is a child process, running this program, that measures candidates.
type process struct {
	command *exec.Cmd
	in      io.Writer
	lines   chan string // closed at its end
	asked   int
}

func start() (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(program, "-worker"), lines: make(chan string)}
	p.command.Stderr = os.Stderr
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p, nil
}

// kill kills the process and returns its processor time.
func (p *process) kill() time.Duration {
	p.command.Process.Kill() //nolint:errcheck // it may have ended by itself
	for range p.lines {      //nolint:revive // until it is closed
	}
	p.command.Wait() //nolint:errcheck // it was killed
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}

// measure requests a score. A candidate that the rules refuse scores 0. After an error the process must be killed.
func (p *process) measure(objective string, g hunt.Genes, runs int) (s hunt.Score, err error) {
	p.asked++
	if _, err := fmt.Fprintf(p.in, "%s %d %s\n", objective, runs, g); err != nil {
		return s, err
	}
	end, watch := time.After(mostWait), time.NewTicker(50*time.Millisecond)
	defer watch.Stop()
	before := used(p.command.Process.Pid)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return s, errors.New("the process ended")
			}
			if reason, faulty := strings.CutPrefix(line, "fault "); faulty {
				return s, errors.New(reason)
			}
			_, err := fmt.Sscan(line, &s.Value, &s.Gas, &s.Took)
			return s, err
		case <-watch.C:
			if resident(p.command.Process.Pid) > memoryFor(objective) {
				return s, fmt.Errorf("over %d MiB of memory", memoryFor(objective)>>20)
			}
			if used(p.command.Process.Pid)-before > timeFor(objective) {
				return s, fmt.Errorf("over %v of the processor", timeFor(objective))
			}
		case <-end:
			return s, fmt.Errorf("over %v by the clock", mostWait)
		}
	}
}

// resident returns a process's resident memory in bytes, or 0 without /proc.
func resident(pid int) (bytes int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}

// used returns a process's processor time, or 0 without /proc.
func used(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// After the name in brackets come eleven other fields. A tick is 10 ms on every Linux.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	var ticks time.Duration
	for _, f := range fields[11:13] { // user and kernel time
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// work answers each line, "objective runs genes", with "value gas ns" or with a fault.
func work(in *bufio.Scanner, out io.Writer) error {
	for in.Scan() {
		answer, err := one(in.Text())
		if err != nil {
			answer = "fault " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return in.Err()
}

func one(line string) (string, error) {
	name, rest, _ := strings.Cut(line, " ")
	var runs int
	text, genes, _ := strings.Cut(rest, " ")
	if _, err := fmt.Sscan(text, &runs); err != nil {
		return "", err
	}
	g, err := hunt.Parse(genes)
	if err != nil {
		return "", err
	}
	o, err := hunt.ObjectiveOf(name)
	if err != nil {
		return "", err
	}
	score, err := o.Measure(g, runs)
	switch {
	case hunt.IsRefusal(err):
		score = hunt.Score{}
	case err != nil:
		return "", err
	}
	return fmt.Sprint(score.Value, score.Gas, int64(score.Took)), nil
}
