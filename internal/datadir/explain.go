package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// explain says of an error of opening a directory what an operator is to do about it.
func explain(path string, err error) error {
	var format *chain.FormatError
	var message *emergency.Emergency
	var file *fs.PathError
	switch {
	case errors.As(err, &message):
		return err
	case errors.As(err, &format):
		return emergency.OtherFormat(path, format.Has, format.Reads, format.Versions, format.Movable, err)
	case errors.Is(err, chain.ErrOtherSchedule):
		return emergency.OtherSchedule(path, err)
	case errors.Is(err, syscall.ENOSPC):
		return emergency.DiskFull(path, err)
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &file):
		return emergency.Unreadable(file.Path, os.Geteuid(), err)
	}
	return err
}

// mayWrite refuses to write into a directory of another user as root: what root makes there the user's node cannot read.
// Anyone else is refused by the system, or is let in by it.
func mayWrite(path string) error {
	owner, group, err := machine.Owner(path)
	if errors.Is(err, machine.ErrUnknown) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if self := os.Geteuid(); self == 0 && owner != 0 {
		as := fmt.Sprintf("setpriv --reuid=%d --regid=%d --clear-groups %s", owner, group, strings.Join(os.Args, " "))
		return emergency.OtherUser(path, owner, self, as, fs.ErrPermission)
	}
	return nil
}
