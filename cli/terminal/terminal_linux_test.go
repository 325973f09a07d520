package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openPair opens a pseudo-terminal (pty(7)): bytes written to keyboard are read from tty.
func openPair(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keyboard, tty
}

// echoes reports whether a terminal shows typed characters.
func echoes(tty *os.File) bool {
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	return err == nil && state.Lflag&unix.ECHO != 0
}

func TestAnswersAtATerminal(t *testing.T) {
	keyboard, tty := openPair(t)
	if !Is(tty) {
		t.Fatal("a terminal is not recognized")
	}
	var out strings.Builder
	terminal := New(tty, &out)
	if _, err := io.WriteString(keyboard, "a line\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := terminal.Line(t.Context(), "Name: "); answer != "a line" || err != nil {
		t.Errorf("got %q, want \"a line\", error %v", answer, err)
	}
	if _, err := io.WriteString(keyboard, "my secret\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := terminal.Secret(t.Context(), "Password: "); answer != "my secret" || err != nil {
		t.Errorf("got %q, want \"my secret\", error %v", answer, err)
	}
	if out.String() != "Name: Password: \n" {
		t.Errorf("asked %q", out.String())
	}
	if !echoes(tty) {
		t.Error("the echo stays off")
	}
}

func TestInterruptedSecretTurnsTheEchoOn(t *testing.T) {
	keyboard, tty := openPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for echoes(tty) {
			runtime.Gosched()
		}
		cancel()
	}()
	terminal := New(tty, io.Discard)
	if _, err := terminal.Secret(ctx, "Password: "); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if !echoes(tty) {
		t.Error("the echo stays off")
	}
	// The abandoned reader also restores the terminal when it ends: the terminal may be closed only after that.
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	state.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, state); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(keyboard, "\n"); err != nil {
		t.Fatal(err)
	}
	for !echoes(tty) {
		runtime.Gosched()
	}
}
