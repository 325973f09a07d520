package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/internal/datadir"
)

// graceTime is how long a node that is told to end may take to start or to end, whatever its disk does.
const graceTime = 10 * time.Second

// inTime returns what work returns, or an error once ctx has ended and over has come after it.
func inTime(ctx context.Context, over func() <-chan time.Time, work func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- work() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-over():
		return errors.New("the node was told to end and did not in time, perhaps for its disk: it was ended, and nothing that " +
			"was acknowledged is lost. Start it again")
	}
}

// adviseDisk says of the error of a data directory's disk whether something is lost, and what to do.
func adviseDisk(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: nothing that was acknowledged is lost; make room on the disk of %s and start again", err, dir)
	case errors.Is(err, datadir.ErrDamaged):
		return fmt.Errorf("%w: run `cairn db check --data-dir %s`, which names what is damaged, and restore a copy, or fetch "+
			"the chain from another node into an empty directory", err, dir)
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: the disk of %s fails; nothing that was acknowledged is lost on it. Look at the system's log, "+
			"copy the directory to another disk and run `cairn db check` there", err, dir)
	}
	return err
}
