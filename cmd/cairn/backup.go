package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/internal/cli"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

func newDBBackup() *cobra.Command {
	settings := defaultAdmin()
	return withSettings(&cobra.Command{
		Use:   "backup",
		Short: "Copy the chain of a node that runs",
		Long: "Have a node that runs on this machine copy its database, as it is at one moment, into a directory below " +
			"DATA-DIR/backups, and\n" +
			"compare every byte of the copy with its checksum. The node goes on meanwhile. The directory is a data directory " +
			"that has the chain\n" +
			"and no key. Move it to another disk: nobody writes to it any more.",
		Example: "  cairn db backup --admin-token-file ./mychain/admin.token",
	}, &settings, func(command *cobra.Command) error {
		path, err := settings.client().Backup(command.Context())
		if err != nil {
			return fmt.Errorf("no backup was made: %w", err)
		}
		progress, stop := cli.Progress(command, "verifying")
		named, head, err := datadir.VerifyBackup(command.Context(), path, progress)
		stop()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		result := struct {
			Path   string          `json:"path"`
			Height types.Height    `json:"height"`
			Hash   types.BlockHash `json:"hash"`
		}{named, head.Header.Height, head.Header.Hash()}
		return cli.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Line("%s has the chain up to block %d, %s.", result.Path, result.Height, result.Hash)
		})
	})
}
