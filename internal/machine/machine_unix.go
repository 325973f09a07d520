//go:build unix

package machine

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFilesLimit returns the limit of open files of the process.
func openFilesLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err
}

// Disk returns the size of the directory's file system and the space that this user may still use, both in bytes.
func Disk(dir string) (size, free uint64, err error) {
	var stat unix.Statfs_t
	err = unix.Statfs(dir, &stat)
	return uint64(stat.Blocks) * uint64(stat.Bsize), uint64(stat.Bavail) * uint64(stat.Bsize), err
}

// Gone reports whether the other end has closed the connection, even if there is unread data. It does not block. A
// client that has closed only its sending side counts as gone too, as with net/http.
func Gone(c syscall.Conn) (gone bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return true // it is closed at this end
	}
	err = raw.Control(func(fd uintptr) {
		looked := []unix.PollFd{{Fd: int32(fd), Events: hangUp}}
		n, err := unix.Poll(looked, 0)
		gone = err == nil && n > 0 && looked[0].Revents&(hangUp|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}

// Owner returns the user and group that own a file.
func Owner(path string) (user, group int, err error) {
	var stat unix.Stat_t
	err = unix.Stat(path, &stat)
	return int(stat.Uid), int(stat.Gid), err
}

var failedWrites = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

func passOver() { signal.Ignore(syscall.SIGTTOU, syscall.SIGUSR1, syscall.SIGUSR2) }

// noCoreFile prevents a core file when a signal ends the process.
func noCoreFile() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
