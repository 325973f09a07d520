package contractbuild

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

// Collect collects a contract's source from its project directory, and records this machine's toolchain in it. A
// [*ToolchainError] reports a missing tool.
func Collect(ctx context.Context, dir string) (contractsource.Source, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return contractsource.Source{}, err
	}
	var s contractsource.Source
	rust, script := exists(filepath.Join(dir, cargoFile)), exists(filepath.Join(dir, filepath.FromSlash(scriptEntry)))
	switch {
	case rust && script:
		return contractsource.Source{}, contractsource.Errorf(
			"%s has a %s and %s: is it a contract in Rust or in AssemblyScript?", dir, cargoFile, scriptEntry,
		)
	case rust:
		s, err = debianRust.collect(ctx, dir)
	case script:
		s, err = scriptCompiler.collect(ctx, dir)
	default:
		return contractsource.Source{},
			contractsource.Errorf("%s is not a contract project: it has neither %s (Rust) nor %s (AssemblyScript)", dir, cargoFile,
				scriptEntry)
	}
	if err != nil {
		return contractsource.Source{}, err
	}
	return s, s.Check()
}

// within reports whether a file is dir or below it.
func within(file, dir string) bool {
	relative, err := filepath.Rel(dir, file)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// slashed returns the path of a file or directory relative to root, with slashes; empty for root itself.
func slashed(root, file string) string {
	relative, err := filepath.Rel(root, file)
	if err != nil || relative == "." {
		return ""
	}
	return filepath.ToSlash(relative)
}

// add adds a file to the source.
func add(s *contractsource.Source, root, file string) error {
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return contractsource.Errorf("%s is not a regular file", file)
	case info.Size() > contractsource.MaxArchiveBytes || len(s.Files) >= contractsource.MaxFiles:
		return contractsource.Errorf("a source has at most %d files and %d bytes; %s is too much", contractsource.MaxFiles, contractsource.MaxArchiveBytes, file)
	}
	s.Files[slashed(root, file)], err = os.ReadFile(file)
	return err
}

// addAll adds the files of a directory to the source.
func addAll(s *contractsource.Source, root, dir string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return add(s, root, file)
	})
}

// unpack writes the files of a source to a directory.
func unpack(s contractsource.Source, dir string) error {
	for file, content := range s.Files {
		target := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
