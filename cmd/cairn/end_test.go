package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/datadir"
)

// What hangs ends once its time is over, after it was told to end.
func TestInTime(t *testing.T) {
	now := make(chan time.Time)
	close(now)
	over := func() <-chan time.Time { return now }
	ctx, end := context.WithCancel(t.Context())
	if err := inTime(ctx, over, func() error { return syscall.ENOSPC }); err != syscall.ENOSPC {
		t.Errorf("what work returns is %v, want %v", err, syscall.ENOSPC)
	}
	end()
	hang := make(chan struct{})
	defer close(hang)
	err := inTime(ctx, over, func() error { <-hang; return nil })
	if err == nil || !strings.Contains(err.Error(), "did not in time") {
		t.Errorf("what hangs ends with %v, want that it did not end in time", err)
	}
}

// Whoever reads an error of the disk is told whether something is lost, and what to do.
func TestAdviseDisk(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC:     "nothing that was acknowledged is lost; make room on the disk of ./d",
		syscall.EIO:        "the disk of ./d fails",
		datadir.ErrDamaged: "cairn db check --data-dir ./d",
	} {
		got := adviseDisk("./d", fmt.Errorf("block 7: %w", err))
		if !errors.Is(got, err) || !strings.Contains(got.Error(), want) {
			t.Errorf("%v becomes %q, want %q in it", err, got, want)
		}
	}
	if other := errors.New("other"); adviseDisk("./d", other) != other || adviseDisk("./d", nil) != nil {
		t.Error("another error is changed")
	}
}
