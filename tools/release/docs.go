package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// writeDocs packs the documentation as a site that needs no server.
func (r *release) writeDocs(ctx context.Context) error {
	name := "cairn-" + r.version + "-docs"
	site := filepath.Join(r.work, "docs")
	command := []string{"go", "run", "./site", "-source", r.source, "-out", site}
	if err := r.steps(ctx, filepath.Join(r.source, "tools", "release"), command); err != nil {
		return err
	}
	var files []file // ordered by name, as WalkDir visits them
	err := filepath.WalkDir(site, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(site, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, file{name + "/" + filepath.ToSlash(below), content, 0o644})
		return err
	})
	if err != nil {
		return err
	}
	return r.writeTar(name, files)
}
