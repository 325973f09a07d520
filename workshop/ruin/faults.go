package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// fault is one change to a file, or a full disk.
type fault struct {
	kind    string
	file    string // relative to the directory
	running bool   // while the node runs, or else before it starts
	at      int64
	bytes   int64
}

func (f fault) String() string {
	when := "before the start"
	if f.running {
		when = "while it runs"
	}
	return fmt.Sprintf("%s %s, %d bytes at %d, %s", f.kind, f.file, f.bytes, f.at, when)
}

var kinds = []string{"flip", "flip", "zero", "truncate", "delete", "duplicate", "permission", "fill the disk"}

// draw draws a fault of a directory. Each file has the same chance, whatever its length.
func draw(random *rand.Rand, dir string) (f fault, err error) {
	var files []string
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && entry.Name() != "LOCK" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return f, err
	}
	file := files[random.IntN(len(files))]
	info, err := os.Stat(file)
	if err != nil {
		return f, err
	}
	f.kind, f.running = kinds[random.IntN(len(kinds))], random.IntN(3) == 0
	if f.file, err = filepath.Rel(dir, file); err != nil {
		return f, err
	}
	if size := info.Size(); size > 0 {
		f.at = random.Int64N(size)
		f.bytes = min(size-f.at, 1+random.Int64N(4096))
	}
	if f.kind == "flip" {
		f.bytes = min(f.bytes, 1)
	}
	return f, nil
}

// make makes the fault in a directory.
func (f fault) make(random *rand.Rand, dir string) error {
	path := filepath.Join(dir, f.file)
	switch f.kind {
	case "delete":
		return os.Remove(path)
	case "permission":
		return os.Chmod(path, 0)
	case "truncate":
		return os.Truncate(path, f.at)
	case "fill the disk":
		return fill(dir)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	end := min(int64(len(content)), f.at+f.bytes)
	part := content[min(f.at, end):end]
	switch f.kind {
	case "flip":
		for i := range part {
			part[i] ^= 1 << random.IntN(8)
		}
	case "zero":
		clear(part)
	case "duplicate":
		content = append(content[:end:end], append(append([]byte(nil), part...), content[end:]...)...)
	}
	return rewrite(path, content)
}

// rewrite writes a file in place: who has it open sees it.
func rewrite(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		return err
	}
	return file.Close()
}

// fill fills the file system of a directory to the last byte.
func fill(dir string) error {
	file, err := os.Create(filepath.Join(dir, "..", "full"))
	if err != nil {
		return err
	}
	for size := 1 << 20; size > 0; {
		if _, err := file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	_ = file.Close() // it is full
	return nil
}
