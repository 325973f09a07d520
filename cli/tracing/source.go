package tracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

// NotChecked adds to the error of a missing toolchain that nothing was compared.
func NotChecked(err error) error {
	if _, ok := errors.AsType[*contractbuild.ToolchainError](err); ok {
		return fmt.Errorf("not checked: %w", err)
	}
	return err
}

// SourceFor collects the source in a directory or reads an archive; without a path it downloads the source that the
// code claims. from is the directory in which to find the packages that compile it: the project's directory, or the
// working directory for an archive.
func SourceFor(
	ctx context.Context, s *session.Session, code []byte, path string,
) (source contractsource.Source, from string, err error) {
	if path == "" {
		if source, err = publishedSource(ctx, s, code); err == nil {
			from, err = os.Getwd()
		}
		return source, from, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return source, "", output.Usage(err)
	}
	if info.IsDir() {
		if from, err = filepath.Abs(path); err == nil {
			source, err = contractbuild.Collect(ctx, path)
		}
		return source, from, err
	}
	archive, err := ReadArchive(path)
	if err == nil {
		source, err = contractsource.ReadArchive(archive)
	}
	if err == nil {
		from, err = os.Getwd()
	}
	return source, from, err
}

// ReadArchive reads at most one byte more than an archive may have.
func ReadArchive(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, output.Usage(err)
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, contractsource.MaxArchiveBytes+1))
}

// publishedSource downloads the source that a code claims from the node.
func publishedSource(ctx context.Context, s *session.Session, code []byte) (contractsource.Source, error) {
	hash, ok := contractbuild.SourceOf(code)
	if !ok {
		return contractsource.Source{}, output.Usage(errors.New("the code contains no source hash: give the source with --source"))
	}
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	archive, err := s.Client.Source(ctx, hash, contractsource.MaxArchiveBytes)
	if status, ok := errors.AsType[*client.StatusError](err); ok && status.Status == http.StatusNotFound {
		return contractsource.Source{}, fmt.Errorf(
			"the source %s, named by the code, is not published on this node: give an archive with --source", hash,
		)
	}
	if err != nil {
		return contractsource.Source{}, err
	}
	return contractsource.ReadArchive(archive)
}
