package kv

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// File is a file beside a database that is written in place.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// SyncData returns when what was written is on disk, as long as the file's length is what it was.
	SyncData() error
}

// OpenFile opens a file for reading and writing. The error of an absent one wraps fs.ErrNotExist.
func (f FS) OpenFile(path string) (File, error) {
	files := f.orDisk()
	if _, err := files.Stat(path); err != nil {
		return nil, err // OpenReadWrite would make the file
	}
	return files.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
}

// WriteFile makes a file of content, whole or not at all. When it returns nil the file is on disk. After an error or a
// crash there is this one or what was there before. It writes path + ".part" first.
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

// MakeDir makes a directory, with those above it that are missing, and returns when their names are on disk.
func (f FS) MakeDir(path string, mode fs.FileMode) error {
	files := f.orDisk()
	var above []string // of each directory that is missing
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

// SyncDir returns when the names of a directory's files are on disk.
func (f FS) SyncDir(path string) error {
	dir, err := f.orDisk().OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
