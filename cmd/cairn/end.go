package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/internal/datadir"
)

// graceTime is how long a node that is told to end may take to start or to end, whatever its disk does: longer than
// [node.Node.Run] takes.
const graceTime = 10 * time.Second

// aStart is what a node waits for that is told to end and has not begun to run.
type aStart struct{}

func (aStart) String() string { return "its start" }

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
