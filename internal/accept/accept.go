// Package accept accepts connections and continues after the process or the system has run out of file descriptors.
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

// The bounds of the pause after a failed attempt. It doubles with each failure.
const (
	leastPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// Listen listens on the address of a flag. Its listener is [Patient].
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

// patient is the listener returned by [Patient].
type patient struct {
	net.Listener
	log    *slog.Logger
	pause  func(d time.Duration, until <-chan struct{})
	once   sync.Once
	closed chan struct{}
}

// Patient returns a listener whose Accept retries after an error for lack of file descriptors or memory. It pauses for
// up to a second between two attempts. It returns all other errors.
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
		p.log.Warn("cannot accept a connection", "address", p.Addr(), "error", err)
		p.pause(pause, p.closed)
	}
}

// passes reports whether an error of accept(2) is for lack of file descriptors or memory.
func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM)
}

// Close implements [net.Listener]. It interrupts a pause of Accept.
func (p *patient) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}

// pauseFor waits for d or until the channel is closed.
func pauseFor(d time.Duration, until <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-until:
	}
}
