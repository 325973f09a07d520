//go:build unix

package main

import "golang.org/x/sys/unix"

// openFilesLimit is how many files the process may have open.
func openFilesLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err
}

// freeDisk is the number of bytes that the directory's file system has left for this user.
func freeDisk(dir string) (uint64, error) {
	var stat unix.Statfs_t
	err := unix.Statfs(dir, &stat)
	return uint64(stat.Bavail) * uint64(stat.Bsize), err
}
