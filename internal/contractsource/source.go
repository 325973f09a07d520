package contractsource

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of a source.
const (
	MaxArchiveBytes = 4 << 20
	MaxFiles        = 1_000
	maxPathBytes    = 100 // limit of the name field in a ustar header
)

// manifestFile is the first file of an archive.
const manifestFile = "cairn-build.json"

// The languages of sources.
const (
	Rust           = "rust"
	AssemblyScript = "assemblyscript"
)

// Format is the version of the archive format and of the compiler flags and build rules.
const Format = 1

// Manifest describes how to compile a source.
type Manifest struct {
	Format   int    `json:"format"`
	Language string `json:"language"`
	Name     string `json:"name"` // base name of the output files
	// Package is the directory of the contract's package in the source, or empty for its root.
	Package string `json:"package"`
	// Toolchain identifies the other inputs of the build: versions, and hashes of libraries.
	Toolchain map[string]string `json:"toolchain"`
}

// Source is the complete source of a module.
type Source struct {
	Manifest Manifest
	Files    map[string][]byte // by path, with slashes, from the source's root
}

// Hash is the SHA-256 of an archive.
type Hash [sha256.Size]byte

// String returns the hash in hex with the prefix 0x.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// MarshalText returns the text of [Hash.String].
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// HashOf returns the hash of an archive.
func HashOf(archive []byte) Hash { return sha256.Sum256(archive) }

// ErrSource is wrapped by every error about an invalid source.
var ErrSource = errors.New("bad source")

func Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSource, fmt.Sprintf(format, args...))
}

var (
	sourcePath = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
	sourceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)
)

func (m Manifest) check() error {
	switch {
	case m.Format != Format:
		return Errorf("its format is %d, but this program supports %d", m.Format, Format)
	case m.Language != Rust && m.Language != AssemblyScript:
		return Errorf("its language is %q", m.Language)
	case !sourceName.MatchString(m.Name):
		return Errorf("its name is %q: letters, digits, _ and -, at most 64", m.Name)
	case m.Package != "" && !sourcePath.MatchString(m.Package):
		return Errorf("its package is in %q", m.Package)
	}
	return nil
}

// Check checks a source against the limits. Its errors wrap [ErrSource].
func (s Source) Check() error {
	if err := s.Manifest.check(); err != nil {
		return err
	}
	if len(s.Files) > MaxFiles {
		return Errorf("%d files, but at most %d are allowed", len(s.Files), MaxFiles)
	}
	size := 0
	for file, content := range s.Files {
		if !sourcePath.MatchString(file) || len(file) > maxPathBytes || file == manifestFile {
			return Errorf("a file has the path %q: parts of letters, digits, . _ - that do not begin with ., at "+
				"most %d bytes",
				file, maxPathBytes)
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if _, taken := s.Files[dir]; taken {
				return Errorf("%s is a file and a directory", dir)
			}
		}
		size += len(content)
	}
	if size > MaxArchiveBytes {
		return Errorf("its files have %d bytes, but at most %d are allowed", size, MaxArchiveBytes)
	}
	return nil
}

// Archive returns the canonical encoding of a source: a ustar file of regular files of mode 0644 without owners and
// times. The manifest is first, and the others are sorted by path. Its errors wrap [ErrSource].
func (s Source) Archive() ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(s.Manifest)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	add := func(name string, content []byte) error {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg,
			Name:     name,
			Size:     int64(len(content)),
			Mode:     0o644,
			ModTime:  time.Unix(0, 0),
			Format:   tar.FormatUSTAR,
		})
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	}
	if err := add(manifestFile, append(manifest, '\n')); err != nil {
		return nil, err
	}
	for _, file := range slices.Sorted(maps.Keys(s.Files)) {
		if err := add(file, s.Files[file]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if archive.Len() > MaxArchiveBytes {
		return nil, Errorf("its archive has %d bytes, but at most %d are allowed", archive.Len(), MaxArchiveBytes)
	}
	return archive.Bytes(), nil
}

// ReadArchive decodes an archive. It accepts only the exact encoding of [Source.Archive]. Its errors wrap [ErrSource].
func ReadArchive(archive []byte) (Source, error) {
	if len(archive) > MaxArchiveBytes {
		return Source{}, Errorf("the archive has %d bytes, and at most %d are allowed", len(archive), MaxArchiveBytes)
	}
	s := Source{Files: map[string][]byte{}}
	r := tar.NewReader(bytes.NewReader(archive))
	for n := 0; ; n++ {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Source{}, Errorf("the archive: %s", err)
		}
		content, err := io.ReadAll(r) // no longer than the archive, because a regular file of ustar is never sparse
		switch _, twice := s.Files[header.Name]; {
		case err != nil:
			return Source{}, Errorf("%s: %s", header.Name, err)
		case header.Typeflag != tar.TypeReg || header.Format != tar.FormatUSTAR:
			return Source{}, Errorf("%s is not a regular file in ustar format", header.Name)
		case twice:
			return Source{}, Errorf("%s occurs twice", header.Name)
		case n > 0:
			s.Files[header.Name] = content
		case header.Name != manifestFile:
			return Source{}, Errorf("the archive does not begin with %s", manifestFile)
		default:
			if err := json.Unmarshal(content, &s.Manifest); err != nil {
				return Source{}, Errorf("%s: %s", manifestFile, err)
			}
		}
	}
	again, err := s.Archive()
	if err != nil {
		return Source{}, err
	}
	if !bytes.Equal(archive, again) {
		return Source{}, Errorf(
			"the archive is not written as %s writes it: order, owners, times or padding", "cairn contract build",
		)
	}
	return s, nil
}

// At returns the path within the source of a file in the package.
func (s Source) At(file string) string { return strings.TrimPrefix(s.Manifest.Package+"/"+file, "/") }
