package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-chain/cairn/internal/datadir"
)

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
