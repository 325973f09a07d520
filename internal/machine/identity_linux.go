package machine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FileIdentity returns values that differ between a file and its copy: the inode number and the inode's birth time in
// nanoseconds of Unix time. born is 0 if the file system does not provide it (statx(2)).
func FileIdentity(path string) (inode, born uint64, err error) {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &stat); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	if stat.Mask&unix.STATX_BTIME != 0 {
		born = uint64(stat.Btime.Sec)*1e9 + uint64(stat.Btime.Nsec)
	}
	return stat.Ino, born, nil
}
