package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// evict takes a directory's files out of the page cache.
func evict(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		file, err := os.Open(name)
		if err != nil {
			return ignoreGone(err)
		}
		const dontNeed = 4 // POSIX_FADV_DONTNEED
		if _, _, number := syscall.Syscall6(syscall.SYS_FADVISE64, file.Fd(), 0, 0, dontNeed, 0, 0); number != 0 {
			err = number
		}
		return errors.Join(err, file.Close())
	})
}

// ignoreGone lets the database delete files meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
