//go:build !linux

package machine

import "errors"

// FileIdentity is what a file has that a copy of it has not. On this system that is not known.
func FileIdentity(string) (inode, born uint64, err error) {
	return 0, 0, errors.New("what tells a file from its copy is known on Linux only")
}
