package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Damage describes a damaged file of a database.
type Damage struct {
	File string // file name
	Err  error
}

// CheckFiles reads all files of a database that hold data and compares every checksum, of the blocks of tables and of
// the records of logs, up to the last byte. No [DB] of the directory may be open, unless the directory was made by
// [DB.Checkpoint].
//
// A log that ends within a record, as a crash leaves it, is not damaged. But Open treats a log with a damaged end in
// the same way, and loses what comes after the damage. CheckFiles calls progress with the bytes done and the total.
func (f FS) CheckFiles(
	ctx context.Context, dir string, progress func(done, total uint64),
) (damages []Damage, err error) {
	files := f.orDisk()
	names, err := files.List(dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	checks := make(map[string]func(vfs.FS, string) error)
	sizes := make(map[string]uint64)
	var total, done uint64
	for _, name := range names {
		check := checkOf(name)
		if check == nil {
			continue
		}
		info, err := files.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		checks[name], sizes[name] = check, uint64(info.Size())
		total += sizes[name]
	}
	for _, name := range names {
		if checks[name] == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return damages, err
		}
		if err := checks[name](files, filepath.Join(dir, name)); err != nil {
			damages = append(damages, Damage{name, err})
		}
		done += sizes[name]
		progress(done, total)
	}
	return damages, nil
}

// checkOf returns the function that checks a file with the given name, or nil if the file holds no data.
func checkOf(name string) func(vfs.FS, string) error {
	switch {
	case strings.HasSuffix(name, ".sst"):
		return checkTable
	case strings.HasPrefix(name, "MANIFEST-"):
		return checkManifest
	case strings.HasSuffix(name, ".log"):
		number, _, _ := strings.Cut(strings.TrimSuffix(name, ".log"), "-")
		if n, err := strconv.ParseUint(number, 10, 64); err == nil {
			return func(files vfs.FS, path string) error { return checkLog(files, path, uint32(n)) }
		}
	}
	return nil
}

// checkTable compares the checksums of a table's blocks. Opening the table compares the footer's checksum.
func checkTable(files vfs.FS, path string) error {
	file, err := files.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	filter := bloom.FilterPolicy(10)
	reader, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{
		Comparer: pebble.DefaultComparer,
		Filters:  map[string]pebble.FilterPolicy{filter.Name(): filter},
	})
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(reader.ValidateBlockChecksums(), reader.Close())
}

// checkManifest compares the checksums of the records of a manifest, the list of the tables.
func checkManifest(files vfs.FS, path string) error {
	file, err := files.Open(path)
	if err != nil {
		return err
	}
	records := record.NewReader(file, 0)
	for err == nil {
		var r io.Reader
		if r, err = records.Next(); err == nil {
			_, err = io.Copy(io.Discard, r)
		}
	}
	if err == io.EOF {
		err = nil
	} else {
		err = fmt.Errorf("after %d bytes: %w", records.Offset(), err)
	}
	return errors.Join(err, file.Close())
}

// Checkpoint copies the database in its current state to a directory that must not exist yet. It links tables if the
// file system can. Writes may continue meanwhile.
func (db *DB) Checkpoint(dir string) error {
	return db.pebble.Checkpoint(dir, pebble.WithFlushedWAL())
}
