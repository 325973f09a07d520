package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// OutFlag adds the flag --out, -o for an output file to a command.
func OutFlag(command *cobra.Command, into *string, usage string) {
	command.Flags().StringVarP(into, "out", "o", "", usage)
}

// CreateOut creates the file given by --out, and its directories. It fails if the file exists.
func CreateOut(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// writeOut writes the file given by --out, and creates its directories.
func writeOut(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
