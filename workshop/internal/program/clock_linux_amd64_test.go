package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clockVariable makes this test's program print the time.
const clockVariable = "TEST_TELLS_THE_TIME"

func TestMain(m *testing.M) {
	if os.Getenv(clockVariable) != "" {
		tellTime()
	}
	os.Exit(m.Run())
}

// tellTime is the program whose clock is set wrong. At each SIGUSR1 it prints the wall clock's time and its running
// time by the monotonic clock.
func tellTime() {
	start := time.Now()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	fmt.Println("it serves")
	for range asked {
		now := time.Now()
		fmt.Println(now.Unix(), now.Sub(start).Milliseconds())
	}
}

func TestSetClock(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(Command{
		Args: []string{os.Args[0]},
		Env:  append(os.Environ(), clockVariable+"=1"),
		Log:  log,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	lines := 0
	awaitLine := func() string {
		lines++
		var line string
		err := p.Await(t.Context(), func(context.Context) (bool, error) {
			text, err := os.ReadFile(log)
			told := strings.SplitAfter(string(text), "\n")
			if err != nil || len(told) <= lines {
				return false, err
			}
			line = told[lines-1]
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	awaitLine()
	for _, wrong := range []time.Duration{0, time.Hour, -time.Hour, 2 * time.Second, 0} {
		if err := p.SetClock(wrong); err != nil {
			t.Fatal(err)
		}
		if err := p.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		var told, ran int64
		if _, err := fmt.Sscan(awaitLine(), &told, &ran); err != nil {
			t.Fatal(err)
		}
		off := time.Unix(told, 0).Sub(before.Truncate(time.Second)) - wrong
		if off < 0 || off > time.Since(before)+time.Second || ran < 0 || ran > time.Minute.Milliseconds() {
			t.Errorf("a clock that is wrong by %v is wrong by %v more; it ran %d ms", wrong, off, ran)
		}
	}
}
