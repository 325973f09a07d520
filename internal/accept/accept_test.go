package accept

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// failing is a listener whose Accept returns each of errs, and then the error of a closed listener.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Addr() net.Addr { return &net.TCPAddr{} }

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return nil, net.ErrClosed
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

// want is an error of accept(2) in the form of package net.
func want(errno syscall.Errno) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", errno)}
}

func TestAcceptOutlivesWantOfDescriptors(t *testing.T) {
	broken := errors.New("broken")
	var errs []error
	for range 12 {
		errs = append(errs, want(syscall.EMFILE))
	}
	errs = append(errs, want(syscall.ENFILE), want(syscall.ENOBUFS), broken)
	var pauses []time.Duration
	p := &patient{Listener: &failing{errs: errs}, log: slog.New(slog.DiscardHandler),
		pause: func(d time.Duration, _ <-chan struct{}) { pauses = append(pauses, d) }, closed: make(chan struct{})}
	if _, err := p.Accept(); !errors.Is(err, broken) {
		t.Errorf("Accept: %v, want %v", err, broken)
	}
	if len(pauses) != len(errs)-1 || pauses[0] != leastPause || pauses[1] != 2*leastPause ||
		slices.Max(pauses) != mostPause {
		t.Errorf("pauses %v, want %d from %s, doubled up to %s", pauses, len(errs)-1, leastPause, mostPause)
	}
	if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept once it is closed: %v, want %v", err, net.ErrClosed)
	}
}

// Accept returns at once if the listener is closed while it pauses.
func TestCloseEndsAPause(t *testing.T) {
	real, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Patient(real, slog.New(slog.DiscardHandler)).(*patient)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.pause(time.Hour, p.closed)
	if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v, want %v", err, net.ErrClosed)
	}
	_ = p.Close() // a second time does not panic
}
