package operator

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

func newSnapshot() *cobra.Command {
	command := invoke.NewGroup(&cobra.Command{
		Use:   "snapshot",
		Short: "Create, export, verify and import snapshots of the state",
		Long: "Create, export, verify and import snapshots of the state. A running node creates them if\n" +
			"--snapshot-interval is set; a replica started with --bootstrap snapshot fetches one\n(state sync). PATH " +
			"is a snapshot's directory, DATA-DIR/snapshots/HEIGHT, or an archive\nwritten by `cairn snapshot export`.",
		Example: "  cairn snapshot list --data-dir ./mychain",
	})
	command.AddCommand(
		newSnapshotCreate(), newSnapshotList(), newSnapshotExport(), newSnapshotVerify(), newSnapshotImport(),
	)
	return command
}

// snapshotResult is the output for a snapshot, without its chunks.
type snapshotResult struct {
	Height         types.Height    `json:"height"`
	BlockHash      types.BlockHash `json:"blockHash"`
	StateRoot      types.StateRoot `json:"stateRoot"`
	GenesisHash    types.BlockHash `json:"genesisHash"`
	Accounts       uint64          `json:"accounts"`
	Contracts      uint64          `json:"contracts"`
	StorageEntries uint64          `json:"storageEntries"`
	SizeBytes      uint64          `json:"sizeBytes"`
	Chunks         uint64          `json:"chunks"`
	CreatedAt      uint64          `json:"createdAt"`
	Path           string          `json:"path,omitempty"`
}

func newSnapshotResult(m datadir.Snapshot, path string) snapshotResult {
	return snapshotResult{
		m.Height, m.BlockHash, m.StateRoot, m.GenesisHash, m.Accounts, m.Contracts, m.StorageEntries, m.SizeBytes,
		m.ChunkCount, m.CreatedAt, path,
	}
}

// show prints a snapshot and a sentence about its outcome.
func (r snapshotResult) show(command *cobra.Command, sentence string) error {
	return invoke.PrinterOf(command).Result(r, func(t *output.Text) {
		t.Line("%s", sentence)
		fields := []output.Field{
			{Name: "block", Value: r.Height}, {Name: "block hash", Value: r.BlockHash}, {Name: "state root", Value: r.StateRoot},
			{Name: "genesis hash", Value: r.GenesisHash}, {Name: "accounts", Value: r.Accounts},
			{Name: "contracts", Value: r.Contracts},
			{Name: "storage entries", Value: r.StorageEntries}, {Name: "bytes", Value: r.SizeBytes},
			{Name: "chunks", Value: r.Chunks},
		}
		if r.Path != "" {
			fields = append(fields, output.Field{Name: "path", Value: r.Path})
		}
		t.Fields(fields...)
	})
}

type stoppedDirectory struct {
	DataDir string `setting:"data-dir" usage:"data directory of a stopped node"`
}

func newSnapshotCreate() *cobra.Command {
	settings := stoppedDirectory{dataHome("node")}
	return withSettings(&cobra.Command{
		Use:   "create",
		Short: "Create a snapshot of a stopped node's chain head",
		Long: "Create a snapshot of a stopped node's chain head in DATA-DIR/snapshots. A running node creates " +
			"snapshots if --snapshot-interval is set.",
		Example: "  cairn snapshot create --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		var m datadir.Snapshot
		err := withChain(settings.DataDir, datadir.Options{}, func(d *datadir.Dir) (err error) {
			m, err = d.CreateSnapshot(command.Context())
			return err
		})
		if errors.Is(err, datadir.ErrLocked) {
			return fmt.Errorf("%w: a running node creates snapshots itself if --snapshot-interval is set", err)
		}
		if err != nil {
			return err
		}
		return newSnapshotResult(m, datadir.SnapshotPath(settings.DataDir, m.Height)).show(command, "Created the "+
			"snapshot.")
	})
}

func newSnapshotList() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a node, running or stopped"`
	}{dataHome("node")}
	return withSettings(&cobra.Command{
		Use:     "list",
		Short:   "List the snapshots in a data directory",
		Example: "  cairn snapshot list --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		manifests, err := datadir.ListSnapshots(settings.DataDir)
		if err != nil {
			return err
		}
		results := make([]snapshotResult, len(manifests))
		for i, m := range manifests {
			results[i] = newSnapshotResult(m, datadir.SnapshotPath(settings.DataDir, m.Height))
		}
		return invoke.PrinterOf(command).Result(results, func(t *output.Text) {
			if len(results) == 0 {
				t.Line("There are no snapshots.")
				return
			}
			rows := make([][]any, len(results))
			for i, r := range results {
				rows[i] = []any{
					r.Height, r.StateRoot, r.Accounts, r.StorageEntries, r.SizeBytes,
					time.Unix(int64(r.CreatedAt), 0).UTC().Format(time.RFC3339),
				}
			}
			t.Table([]string{"block", "state root", "accounts", "storage entries", "bytes", "made"}, rows)
		})
	})
}

func newSnapshotExport() *cobra.Command {
	var path string
	command := &cobra.Command{
		Use:     "export PATH --out FILE",
		Short:   "Export a snapshot as an archive",
		Long:    "Export a snapshot as an archive: a zip file of its manifest and chunks.",
		Example: "  cairn snapshot export ./mychain/snapshots/1000 --out snapshot-1000.zip",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if path == "" {
				return output.Usage(errors.New("--out is required: the file to write"))
			}
			file, err := invoke.CreateOut(path)
			if err != nil {
				return err
			}
			if err = errors.Join(
				datadir.ExportSnapshot(command.Context(), args[0], file), file.Sync(), file.Close(),
			); err != nil {
				return errors.Join(err, os.Remove(path))
			}
			return invoke.PrinterOf(command).Result(map[string]string{"file": path}, func(t *output.Text) {
				t.Line("Wrote the snapshot to %s.", path)
			})
		},
	}
	invoke.OutFlag(command, &path, "file to write")
	return command
}

// trustFlags identify the chain and block that a snapshot must match.
type trustFlags struct{ genesis, block string }

func (f *trustFlags) register(command *cobra.Command) {
	command.Flags().StringVar(&f.genesis, "genesis-hash", "", "hash of block 0 of the snapshot's chain")
	command.Flags().StringVar(
		&f.block, "block-hash", "",
		"hash of the snapshot's block; required if its producer is not the one in the genesis",
	)
}

func (f *trustFlags) trust() (trust datadir.SnapshotTrust, err error) {
	for _, flag := range []struct {
		name, text string
		to         *types.BlockHash
	}{{"genesis-hash", f.genesis, &trust.Genesis}, {"block-hash", f.block, &trust.Block}} {
		if flag.text == "" {
			continue
		}
		if err := flag.to.UnmarshalText([]byte(flag.text)); err != nil {
			return trust, output.Usage(fmt.Errorf("--%s: %w", flag.name, err))
		}
	}
	return trust, nil
}

func newSnapshotVerify() *cobra.Command {
	var flags trustFlags
	command := &cobra.Command{
		Use:   "verify PATH",
		Short: "Verify a snapshot completely, without a node",
		Long: "Verify a snapshot completely, without a node: every chunk against the manifest, the\nstate against " +
			"the root in the signed header, and that no chunk is missing, duplicated or\nfrom another snapshot. " +
			"Without --genesis-hash, any chain is accepted. Exit code 1 if\nanything is wrong.",
		Example: "  cairn snapshot verify snapshot-1000.zip --genesis-hash 0x…",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			trust, err := flags.trust()
			if err != nil {
				return err
			}
			progress, stop := invoke.Progress(command, "verifying")
			m, err := datadir.VerifySnapshot(command.Context(), args[0], trust, progress)
			stop()
			if err != nil {
				return err
			}
			return newSnapshotResult(m, "").show(command, "The snapshot is valid.")
		},
	}
	flags.register(command)
	return command
}

func newSnapshotImport() *cobra.Command {
	var flags trustFlags
	settings := struct {
		DataDir string `setting:"data-dir" usage:"new data directory to fill, without a chain"`
	}{dataHome("node")}
	command := withSettings(&cobra.Command{
		Use:   "import PATH|URL... --genesis-hash HASH",
		Short: "Import a snapshot into a new data directory",
		Long: "Verify a snapshot as `cairn snapshot verify` does, and import it into a new data\ndirectory. The " +
			"snapshot is at a path, or is the newest one offered by the nodes at the\nURLs, downloaded from all of " +
			"them that have it. An interrupted download is resumed. The\nimport is all or nothing.",
		Example: "  cairn snapshot import snapshot-1000.zip --genesis-hash 0x… --data-dir ./replica\n" +
			"  cairn snapshot import https://a.example.org https://b.example.org --genesis-hash 0x… --data-dir ./replica",
	}, &settings, func(command *cobra.Command) error {
		trust, err := flags.trust()
		if err != nil {
			return err
		}
		if trust.Genesis == (types.BlockHash{}) {
			return output.Usage(errors.New("--genesis-hash is required: the hash of block 0, which identifies the " +
				"chain"))
		}
		progress, stop := invoke.Progress(command, "importing")
		m, err := importFrom(command, settings.DataDir, command.Flags().Args(), trust, progress)
		stop()
		if err != nil {
			return err
		}
		return newSnapshotResult(m, settings.DataDir).show(command, "Imported the snapshot.")
	})
	command.Args = cobra.MinimumNArgs(1)
	flags.register(command)
	return command
}

// importFrom imports a snapshot from a path, or from nodes at URLs.
func importFrom(
	command *cobra.Command, dir string, from []string, trust datadir.SnapshotTrust, progress func(done, total uint64),
) (m datadir.Snapshot, err error) {
	urls := 0
	for _, name := range from {
		if strings.Contains(name, "://") {
			urls++
		}
	}
	options := datadir.Options{}
	work := func(d *datadir.Dir) (err error) {
		m, err = d.Bootstrap(command.Context(), datadir.Upstreams{URLs: from}, trust, progress)
		return err
	}
	switch {
	case urls == 0 && len(from) == 1:
		work = func(d *datadir.Dir) (err error) {
			m, err = d.ImportSnapshot(command.Context(), from[0], trust, progress)
			return err
		}
	case urls < len(from):
		return m, output.Usage(errors.New("give either one path, or URLs of nodes"))
	default:
		if options.Log, err = newLogger(command.ErrOrStderr(), "warn", "text"); err != nil {
			return m, err
		}
	}
	err = withDir(dir, options, work)
	return m, err
}
