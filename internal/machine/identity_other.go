//go:build !linux

package machine

import "errors"

// FileIdentity returns an error: this system does not identify files.
func FileIdentity(string) (inode, born uint64, err error) {
	return 0, 0, errors.New("file identities are supported on Linux only")
}
