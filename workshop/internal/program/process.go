// Package program runs the program as a process of its own, as an operator does. Tests and measurements from outside
// use it. It waits until a node serves, ends it with a bound, and tells how much of the machine it uses.
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
	// serveTime is how long a process may take to serve: long enough to build the tree of ten million accounts.
	serveTime = 5 * time.Minute
	// pollTime is between two looks for the ready file, which nothing tells of.
	pollTime = 10 * time.Millisecond
	// dumpTime is how long a process that does not end may take to say why.
	dumpTime = 5 * time.Second
	// lastWords is how much of a log's end an error quotes, in bytes.
	lastWords = 1000
)

// Command says what to run.
type Command struct {
	// Args are the path of the program and its arguments.
	Args []string
	// Env is the environment, as "name=value"; nil: this process's.
	Env []string
	// Log is the file that all output is appended to. Empty: the standard error goes to this process's, the rest nowhere.
	Log string
	// Patience is how long the process may take to end once it is asked to; 0: a minute.
	Patience time.Duration
}

// Process is what [Start] started. Who started it ends it.
type Process struct {
	command  *exec.Cmd
	log      string
	patience time.Duration
	ended    chan struct{} // closed once the process was reaped
	err      error         // how it ended
	clock    int64         // the address of [readClock] there, once it is
}

// Start runs a command in a process group of its own: a terminal's interrupt is for the caller to pass on, and
// [Process.Kill] reaches all that the process started.
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
		defer func() { _ = log.Close() }() // the process has it
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

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait waits until the process has ended, and returns how: nil for exit code 0.
func (p *Process) Wait() error {
	<-p.ended
	return p.err
}

// EndedEarly is the error of a process that ended and was to go on. It waits until the process has ended.
func (p *Process) EndedEarly() error {
	<-p.ended
	return fmt.Errorf("it ended by itself (%s)", p.command.ProcessState)
}

// AwaitReady waits until the process wrote its ready file, and decodes that into v.
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

// Await calls serves until it says that the process serves. An error, serves' own, that the process ended or that it
// took too long, quotes the end of the log.
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

// Signal sends the process a signal; one that has ended gets none.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s: %w", signal, err)
	}
	return nil
}

// End asks the process to end with a signal and returns when it is gone, however it ended. One that takes longer than
// it may is killed, with all that it started, and that is an error; what each of its goroutines waited for is in its
// log.
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

// dump makes a Go program print its goroutines (package runtime: SIGQUIT), by which it ends; one that does not in a few
// seconds says nothing.
func (p *Process) dump() {
	_ = p.Signal(syscall.SIGQUIT) // one that is gone has nothing to say
	select {
	case <-p.ended:
	case <-time.After(dumpTime):
	}
}

// Stop ends the process as an operator does, by SIGTERM, and returns how it ended: nil for exit code 0.
func (p *Process) Stop() error {
	if err := p.End(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Wait()
}

// Kill ends the process and all that it started at once, as a crash does, and returns when it is gone.
func (p *Process) Kill() {
	select {
	case <-p.ended: // its id may belong to another by now
		return
	default:
	}
	// The one possible error is that the group is gone, and then the wait returns.
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	<-p.ended
}
