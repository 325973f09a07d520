package kv

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is where a database keeps its files. The zero FS is the disk.
type FS struct {
	vfs vfs.FS
}

// Memory returns an empty file system in memory. Databases opened on it, one after the other, find what the last
// one left.
func Memory() FS { return FS{vfs.NewMem()} }

func (f FS) orDisk() vfs.FS {
	if f.vfs == nil {
		return vfs.Default
	}
	return f.vfs
}

// ordered has the entries of a directory on the disk before a marker file comes into it, by whose name Pebble knows its
// manifest. Pebble syncs both together: a machine that stops between may come back with the marker alone, and the
// database could not be opened any more.
type ordered struct{ vfs.FS }

// Create implements vfs.FS.
func (o ordered) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(o.PathBase(name), "marker.") {
		if err := (FS{o.FS}).SyncDir(o.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return o.FS.Create(name, category)
}
