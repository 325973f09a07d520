// Package program runs the program in a process, as an operator does, for tests and measurements from outside. It waits
// until a node serves, stops it within a time limit, and measures its use of the machine.
package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// serveTime limits the time until a process serves: long enough to build the tree of ten million accounts.
	serveTime = 5 * time.Minute
	// pollTime is the interval of looking for the ready file.
	pollTime = 10 * time.Millisecond
	// dumpTime limits the time for the goroutine dump of a process that does not stop.
	dumpTime = 5 * time.Second
	// lastWords is the length of a log's end that errors quote, in bytes.
	lastWords = 1000
)

// Command describes the program to run.
type Command struct {
	// Args holds the path of the program and its arguments.
	Args []string
	// Env is the environment, as "name=value"; nil means this process's environment.
	Env []string
	// Log is the file to which all output is appended. If empty, standard error goes to this process's and standard
	// output is discarded.
	Log string
	// Patience limits the time for stopping the process; 0 means one minute.
	Patience time.Duration
}

// Process is a process started by [Start]. The caller must stop it.
type Process struct {
	command  *exec.Cmd
	log      string
	patience time.Duration
	ended    chan struct{} // closed once the process was reaped
	err      error         // exit status
	clock    int64         // address of [readClock] in the process; 0 until set
}

// Start runs a command in its own process group, so that the caller must forward a terminal's interrupt, and
// [Process.Kill] reaches all processes that it started.
func Start(c Command) (*Process, error) {
	p := &Process{
		command: exec.Command(c.Args[0], c.Args[1:]...), log: c.Log, patience: c.Patience, ended: make(chan struct{}),
	}
	if p.patience == 0 {
		p.patience = time.Minute
	}
	p.command.Env, p.command.Stderr = c.Env, os.Stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Log != "" {
		log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer func() { _ = log.Close() }() // the process has its own handle
		p.command.Stdout, p.command.Stderr = log, log
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Pid is the number by which the system knows the process.
func (p *Process) Pid() int { return p.command.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait waits until the process has ended, and returns its exit error, or nil for exit code 0.
func (p *Process) Wait() error {
	<-p.ended
	return p.err
}

// EndedEarly waits until the process has ended, and returns the error for an unexpected end.
func (p *Process) EndedEarly() error {
	<-p.ended
	return fmt.Errorf("it ended by itself (%s)", p.command.ProcessState)
}

// AwaitReady waits until the process has written its ready file, and decodes the file into v.
func (p *Process) AwaitReady(ctx context.Context, file string, v any) error {
	return p.Await(ctx, func(context.Context) (bool, error) {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			return false, fmt.Errorf("ready file: %w", err)
		}
		return true, nil
	})
}

// Await calls serves until it returns true. It fails if serves fails, the process ends or the time limit passes. The
// error quotes the end of the log.
func (p *Process) Await(ctx context.Context, serves func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	ticker := time.NewTicker(pollTime)
	defer ticker.Stop()
	for {
		done, err := serves(ctx)
		switch {
		case err != nil:
			return p.withLog(err)
		case done:
			return nil
		}
		select {
		case <-ticker.C:
		case <-p.ended:
			return p.withLog(p.EndedEarly())
		case <-ctx.Done():
			return p.withLog(fmt.Errorf("it does not serve: %w", ctx.Err()))
		}
	}
}

// withLog adds the end of the log to an error.
func (p *Process) withLog(err error) error {
	if p.log == "" {
		return err
	}
	text, readErr := os.ReadFile(p.log)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return fmt.Errorf("%w; %s ends with\n%s", err, p.log, strings.TrimSpace(string(text[max(0, len(text)-lastWords):])))
}

// Signal sends the process a signal, unless it has ended.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s: %w", signal, err)
	}
	return nil
}

// End sends the process a signal to stop it, and returns when it has ended, whatever its exit code. If it exceeds its
// patience, End logs the stacks of its goroutines, kills it with all processes that it started, and returns an error.
func (p *Process) End(signal os.Signal) error {
	if err := p.Signal(signal); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(p.patience):
		p.dump()
		p.Kill()
		return fmt.Errorf("it still ran %s after it was asked to end, and was killed", p.patience)
	}
}

// dump makes a Go program print its goroutines and exit (package runtime: SIGQUIT). It waits a few seconds.
func (p *Process) dump() {
	_ = p.Signal(syscall.SIGQUIT) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(dumpTime):
	}
}

// Stop stops the process by SIGTERM, as an operator does, and returns its exit error, or nil for exit code 0.
func (p *Process) Stop() error {
	if err := p.End(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Wait()
}

// Kill kills the process and all processes that it started, like a crash, and returns when it has ended.
func (p *Process) Kill() {
	select {
	case <-p.ended: // its ID may be reused by now
		return
	default:
	}
	// The only possible error is that the group has ended, and then the wait returns.
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	<-p.ended
}
