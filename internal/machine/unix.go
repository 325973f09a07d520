//go:build unix

package machine

import "golang.org/x/sys/unix"

// OpenFilesLimit is how many files the process may have open.
func OpenFilesLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err
}

// Disk tells the size of the directory's file system in bytes, and how much of it is left for this user.
func Disk(dir string) (size, free uint64, err error) {
	var stat unix.Statfs_t
	err = unix.Statfs(dir, &stat)
	return uint64(stat.Blocks) * uint64(stat.Bsize), uint64(stat.Bavail) * uint64(stat.Bsize), err
}
