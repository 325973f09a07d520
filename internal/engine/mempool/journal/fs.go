package journal

import (
	"errors"
	"io"
	"os"
)

// FS is the part of a file system that a journal needs. Tests inject faults with it.
type FS interface {
	// Create creates an empty file for appending, replacing an existing one.
	Create(name string) (File, error)
	// Open opens a file for reading. If the file does not exist, the error wraps fs.ErrNotExist.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes a directory's entries durable.
	SyncDir(dir string) error
}

// File is an open file of an [FS].
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Sync() error
	Truncate(size int64) error
}

// OS is the operating system's file system.
type OS struct{}

// Create implements [FS]. Only the file's owner may access it.
func (OS) Create(name string) (File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
}

// Open implements [FS].
func (OS) Open(name string) (File, error) { return os.Open(name) }

// Rename implements [FS].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements [FS].
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir implements [FS].
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
