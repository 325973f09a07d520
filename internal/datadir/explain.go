package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
)

// Explain says of an error of a directory what an operator is to do about it, as a message of package emergency. It is
// the one table of what the storage finds wrong. Nil, and any other error, stay as they are.
func Explain(path string, err error) error {
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
	case errors.Is(err, raftlog.ErrDamaged), errors.Is(err, raftlog.ErrLost):
		return emergency.DamagedPromises(path, err)
	case errors.Is(err, journal.ErrFormat):
		return emergency.OtherJournal(path, filepath.Join(path, journalFile), err)
	case errors.Is(err, kv.ErrDamaged), errors.Is(err, chain.ErrCorrupt):
		member, _ := IsMember(path) // what cannot be told is none
		return emergency.DamagedDatabase(path, member, err)
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.EROFS):
		return emergency.DiskFails(path, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
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
		place, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		return emergency.OtherUser(path, owner, self, asOwner(place, owner, group, os.Args), fs.ErrPermission)
	}
	return nil
}

// privateDir is where systemd keeps the directories of services whose users it makes up. Only root may look into it, so
// the user alone does not reach them.
const privateDir = "/var/lib/private/"

// asOwner are the words that run a command as the owner of a directory, whose path has no links.
func asOwner(place string, owner, group int, args []string) string {
	command := strings.Join(args, " ")
	if name, is := strings.CutPrefix(place, privateDir); is {
		return fmt.Sprintf("systemd-run --pty --wait -p User=%[1]s -p DynamicUser=yes -p StateDirectory=%[1]s %[2]s", name, command)
	}
	return fmt.Sprintf("setpriv --reuid=%d --regid=%d --clear-groups %s", owner, group, command)
}
