// Package secret reads and writes files that only their owner may read.
package secret

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// maxBytes bounds a file with a secret.
const maxBytes = 1 << 20

// Size is the length in bytes of a secret that [ReadHex] reads.
const Size = 32

// Read reads a file of at most 1 MiB that only its owner may read.
func Read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s is readable by users other than its owner: run chmod 600 on it", file)
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%s is larger than 1 MiB", file)
	}
	return os.ReadFile(file)
}

// ReadHex reads a file with 32 bytes in hex, 0x or not (the form of Ethereum's engine API).
func ReadHex(file string) (secret [Size]byte, err error) {
	content, err := Read(file)
	if err != nil {
		return secret, err
	}
	decoded, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(string(content)), "0x"))
	if err != nil || len(decoded) != Size {
		return secret, fmt.Errorf("%s is not 64 hex digits", file)
	}
	return [Size]byte(decoded), nil
}

// Write makes a file that only its owner can read, in place of an existing one. The content is on disk when it returns.
func Write(path string, content []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
