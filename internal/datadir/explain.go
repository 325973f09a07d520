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

// Explain translates an error of a directory into a message of package emergency, which tells the operator the next
// step. It is the only place that maps storage errors to messages. It returns nil and other errors unchanged.
func Explain(path string, err error) error {
	var format *chain.FormatError
	var message *emergency.Emergency
	var file *fs.PathError
	switch {
	case errors.As(err, &message):
		return err
	case errors.As(err, &format) && format.Has <= chain.LastBalancesFormat:
		return emergency.OldProtocol(path, format.Versions, err)
	case errors.As(err, &format):
		return emergency.OtherFormat(path, format.Has, format.Reads, format.Versions, format.Movable, err)
	case errors.Is(err, chain.ErrOtherSchedule):
		return emergency.OtherSchedule(path, err)
	case errors.Is(err, raftlog.ErrDamaged), errors.Is(err, raftlog.ErrLost):
		return emergency.DamagedPromises(path, err)
	case errors.Is(err, journal.ErrFormat):
		return emergency.OtherJournal(path, filepath.Join(path, journalFile), err)
	case errors.Is(err, kv.ErrDamaged), errors.Is(err, chain.ErrCorrupt):
		member, _ := IsMember(path) // an error counts as no member
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

// mayWrite refuses root to write into another user's directory, because that user's node could not read root's files.
// For other users the file permissions decide.
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

// privateDir is the parent of the directories of systemd services with dynamic users. Only root may access it, so
// running a command as the service's user is not enough.
const privateDir = "/var/lib/private/"

// asOwner returns the command line that runs args as the owner of the directory place. place must have no links.
func asOwner(place string, owner, group int, args []string) string {
	command := strings.Join(args, " ")
	if name, is := strings.CutPrefix(place, privateDir); is {
		return fmt.Sprintf("systemd-run --pty --wait -p User=%[1]s -p DynamicUser=yes -p StateDirectory=%[1]s %[2]s", name, command)
	}
	return fmt.Sprintf("setpriv --reuid=%d --regid=%d --clear-groups %s", owner, group, command)
}
