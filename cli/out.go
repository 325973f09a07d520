package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// OutFlag gives a command the flag --out, -o: where it writes what it makes.
func OutFlag(command *cobra.Command, into *string, usage string) {
	command.Flags().StringVarP(into, "out", "o", "", usage)
}

// CreateOut makes the file that --out names, and the directories that it is to be in. A file that exists is kept.
func CreateOut(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// writeOut writes the file that --out names, and makes the directories that it is to be in.
func writeOut(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
