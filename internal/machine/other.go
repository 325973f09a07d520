//go:build !unix

package machine

import "syscall"

// openFilesLimit is how many files the process may have open.
func openFilesLimit() (uint64, error) { return 0, ErrUnknown }

// Disk tells the size of the directory's file system in bytes, and how much of it is left for this user.
func Disk(string) (size, free uint64, err error) { return 0, 0, ErrUnknown }

// Gone reports whether the other end of a connection has closed it: not known on this system.
func Gone(syscall.Conn) bool { return false }

// Owner tells who owns a file: not known on this system.
func Owner(string) (user, group int, err error) { return 0, 0, ErrUnknown }
