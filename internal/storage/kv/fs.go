package kv

import "github.com/cockroachdb/pebble/v2/vfs"

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
