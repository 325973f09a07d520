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

// copyTree copies the files of a directory, but for entries of some names at its top, and returns their paths below it.
// Modes stay. All is on disk when it returns. What is neither file, directory nor link is an error.
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

// copyFile copies a file in place of what an earlier copy left. A link is made anew, to where it leads.
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

// sameFile compares two files byte by byte.
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
			return fmt.Errorf("%s is not as %s", b, a)
		case errA == nil && errB == nil:
		case ended(errA) && ended(errB):
			return nil
		default:
			return errors.Join(errA, errB)
		}
	}
}

// ended tells whether a file was read to its end.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
