package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string // with slashes
	content []byte
	mode    int64
}

// contents returns the files in the archive of a program.
func (r *release) contents(ctx context.Context, p program, pages []file) ([]file, error) {
	binary, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	licences, err := r.thirdParties(ctx, p)
	if err != nil {
		return nil, err
	}
	files := append(slices.Clone(pages), file{p.binary(), binary, 0o755}, file{"THIRD_PARTY_LICENSES", licences, 0o644})
	names, err := shipped(os.DirFS(r.source))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(r.source, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, content, 0o644})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return files, nil
}

// shipped returns the source files that ship with the program: all that a page tells an operator to use.
func shipped(source fs.FS) ([]string, error) {
	names := []string{
		"LICENSE", "README.md", "CHANGELOG.md", "deploy/cairn.service", "deploy/cairn-signer.service", "deploy/haproxy.cfg",
		"deploy/nginx.conf", "deploy/prometheus.yml", "deploy/alerts.yml", "deploy/grafana.json",
	}
	modules, err := fs.Glob(source, "contracts/wasm/*.wasm")
	return append(names, modules...), err
}

// licencePattern matches names of licence files.
var licencePattern = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// thirdParties returns the licences of all modules in a program. They must accompany it.
func (r *release) thirdParties(ctx context.Context, p program) ([]byte, error) {
	var text bytes.Buffer
	goLicence, err := output(exec.CommandContext(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	if err := appendLicences(&text, "The Go standard library", goLicence); err != nil {
		return nil, err
	}
	for _, module := range p.info.Deps {
		if module.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced: its licence is not known", module.Path)
		}
		list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module.Path)
		list.Dir = r.source
		list.Env = append(os.Environ(), "GOFLAGS=")
		directory, err := output(list)
		if err != nil {
			return nil, err
		}
		if err := appendLicences(&text, module.Path+" "+module.Version, directory); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// appendLicences appends the licence files in a directory, and fails if there are none.
func appendLicences(text *bytes.Buffer, title, directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	found := false
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licencePattern.MatchString(entry.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(
			text, "%s\n%s, %s\n%[1]s\n\n%s\n\n", strings.Repeat("=", 100), title, entry.Name(), bytes.TrimSpace(content),
		)
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", title, directory)
	}
	return nil
}

// writeArchive writes a program with its files, in a directory named like the archive.
func (r *release) writeArchive(p program, files []file) error {
	name := r.name(p)
	below := make([]file, len(files))
	for i, f := range files {
		below[i] = file{name + "/" + f.name, f.content, f.mode}
	}
	if p.os == "windows" {
		archive, err := zipped(below, r.time)
		if err != nil {
			return err
		}
		return r.writeFile(name+".zip", archive, 0o644)
	}
	return r.writeTar(name, below)
}

// writeTar writes files to a gzipped tar archive with the given name.
func (r *release) writeTar(name string, files []file) error {
	archive, err := tarred(files, r.time)
	if err != nil {
		return err
	}
	if archive, err = gzipped(archive); err != nil {
		return err
	}
	return r.writeFile(name+".tar.gz", archive, 0o644)
}

// tarred returns a tar archive of files in order, all owned by root and with one time.
func tarred(files []file, at time.Time) ([]byte, error) { return tarredAs(files, at, 0) }

// tarredAs is like [tarred], but a user owns the directories.
func tarredAs(files []file, at time.Time, owner int) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		header := &tar.Header{
			Name:     f.name,
			Mode:     f.mode,
			ModTime:  at,
			Size:     int64(len(f.content)),
			Typeflag: tar.TypeReg,
			Format:   tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag, header.Uid, header.Gid = tar.TypeDir, owner, owner
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}

func zipped(files []file, at time.Time) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(f.mode))
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}

// gzipped compresses content without a name and a time in the header.
func gzipped(content []byte) ([]byte, error) {
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return compressed.Bytes(), err
}
