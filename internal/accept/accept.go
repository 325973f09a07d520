// Package accept takes connections in, also while the process or the system has no file descriptor for the next one.
package accept

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

// The pauses after failed attempts: each is twice the one before, between these.
const (
	leastPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// Listen listens on an address that a flag sets, and is [Patient].
func Listen(address, flag string, log *slog.Logger) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf(
			"%s %s is in use by another program, perhaps another node: end that, or choose another address", flag, address,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return Patient(listener, log), nil
}

// patient is a listener that [Patient] made.
type patient struct {
	net.Listener
	log    *slog.Logger
	pause  func(d time.Duration, until <-chan struct{})
	once   sync.Once
	closed chan struct{}
}

// Patient is the listener with an Accept that tries again after an error for want of descriptors or memory.
// Between two attempts it pauses, for up to a second. It returns all other errors.
func Patient(l net.Listener, log *slog.Logger) net.Listener {
	return &patient{Listener: l, log: log, pause: pauseFor, closed: make(chan struct{})}
}

// Accept implements [net.Listener].
func (p *patient) Accept() (net.Conn, error) {
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		conn, err := p.Listener.Accept()
		if err == nil || !passes(err) {
			return conn, err
		}
		p.log.Warn("a connection could not be accepted", "address", p.Addr(), "error", err)
		p.pause(pause, p.closed)
	}
}

// passes tells whether an error of accept(2) is one for want of descriptors or memory.
func passes(err error) bool {
	for _, want := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

// Close implements [net.Listener], and ends a pause.
func (p *patient) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}

// pauseFor waits, or until the channel is closed.
func pauseFor(d time.Duration, until <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-until:
	}
}
