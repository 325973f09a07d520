package kv

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// File is a file next to a database that is written in place.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// SyncData returns once all writes are on disk, provided that the file's length has not changed.
	SyncData() error
}

// OpenFile opens an existing file for reading and writing. The error for an absent file wraps fs.ErrNotExist.
func (f FS) OpenFile(path string) (File, error) {
	files := f.orDisk()
	if _, err := files.Stat(path); err != nil {
		return nil, err // OpenReadWrite would create the file
	}
	return files.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
}

// WriteFile atomically writes content to a file. When it returns nil, the file is on disk. After an error or a crash,
// either the new file or the previous one is there. It writes to path + ".part" first.
func (f FS) WriteFile(path string, content []byte) error {
	files := f.orDisk()
	part := path + ".part"
	file, err := files.Create(part, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := files.Rename(part, path); err != nil {
		return err
	}
	return f.SyncDir(filepath.Dir(path))
}

// MakeDir creates a directory and its missing parents, and returns once their names are on disk.
func (f FS) MakeDir(path string, mode fs.FileMode) error {
	files := f.orDisk()
	var above []string // parents of the missing directories
	for dir, up := path, files.PathDir(path); ; dir, up = up, files.PathDir(up) {
		if _, err := files.Stat(dir); err == nil || dir == up {
			break
		}
		above = append(above, up)
	}
	if err := files.MkdirAll(path, mode); err != nil {
		return err
	}
	for _, dir := range above {
		if err := f.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir returns once the names of a directory's files are on disk.
func (f FS) SyncDir(path string) error {
	dir, err := f.orDisk().OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
