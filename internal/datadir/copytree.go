package datadir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// copyTree copies the files of a directory, except the top-level entries named in without, and returns their relative
// paths. It keeps modes and syncs everything to disk. Any entry other than a file, directory or link is an error.
func copyTree(ctx context.Context, from, to string, without []string) (files []string, err error) {
	if from, err = filepath.EvalSymlinks(from); err != nil { // systemd has a link to the directory of a service
		return nil, err
	}
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if slices.Contains(without, name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return (kv.FS{}).MakeDir(filepath.Join(to, name), info.Mode().Perm())
		}
		files = append(files, name)
		return copyFile(path, filepath.Join(to, name), info.Mode())
	})
	return files, err
}

// copyFile copies a file and replaces the result of an earlier attempt. A link is replaced by a link to its final
// target.
func copyFile(from, to string, mode fs.FileMode) (err error) {
	if mode&fs.ModeSymlink != 0 {
		target, err := filepath.EvalSymlinks(from)
		if err != nil {
			return err
		}
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Symlink(target, to)
	}
	if !mode.IsRegular() {
		return fmt.Errorf("%s is neither a file nor a directory: move it away", from)
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	part := to + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	target, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	if _, err = io.Copy(target, source); err == nil {
		err = target.Sync()
	}
	if err := errors.Join(err, target.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(part, to), (kv.FS{}).SyncDir(filepath.Dir(to)))
}

// sameFile returns an error unless the two files have the same content.
func sameFile(a, b string) error {
	first, err := os.Open(a)
	if err != nil {
		return err
	}
	defer first.Close()
	second, err := os.Open(b)
	if err != nil {
		return err
	}
	defer second.Close()
	x, y := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, errA := io.ReadFull(first, x)
		k, errB := io.ReadFull(second, y)
		switch {
		case !bytes.Equal(x[:n], y[:k]):
			return fmt.Errorf("%s differs from %s", b, a)
		case errA == nil && errB == nil:
		case ended(errA) && ended(errB):
			return nil
		default:
			return errors.Join(errA, errB)
		}
	}
}

// ended reports whether a read reached the end of the file.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
