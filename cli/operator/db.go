package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/types"
)

func newDB() *cobra.Command {
	command := invoke.NewGroup(&cobra.Command{
		Use:     "db",
		Short:   "Check, back up, move, prune, export, import or prove the chain of a data directory",
		Example: "  cairn db check --data-dir ./mychain",
	})
	command.AddCommand(newDBCheck(), newDBBackup(), newDBMove(), newDBPrune(), newDBExport(), newDBImport(), newDBProve(),
		newDBBalances())
	return command
}

// withDir opens a data directory, calls work and closes the directory.
func withDir(path string, options datadir.Options, work func(*datadir.Dir) error) error {
	if path == "" {
		return output.Usage(errors.New("--data-dir is needed"))
	}
	d, err := datadir.Open(path, options)
	if err != nil {
		return err
	}
	return errors.Join(datadir.Explain(path, work(d)), d.Close())
}

// withChain is like withDir, for a directory that has a chain.
func withChain(path string, options datadir.Options, work func(*datadir.Dir) error) error {
	d, err := datadir.OpenChain(path, options)
	if err != nil {
		return err
	}
	return errors.Join(datadir.Explain(path, work(d)), d.Close())
}

var errChangedMeanwhile = errors.New("a node was running on the directory in the meantime: nothing was changed")

// lookThenDo opens a directory that has a chain read-only for look, which may ask the user. If look returns nil,
// lookThenDo opens the directory for writing and calls do.
func lookThenDo(path string, look, do func(*datadir.Dir) error) error {
	if err := withChain(path, datadir.Options{ReadOnly: true}, look); err != nil {
		return err
	}
	return withChain(path, datadir.Options{}, do)
}

func newDBCheck() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a stopped node"`
	}{dataHome("dev")}
	return withSettings(&cobra.Command{
		Use:   "check",
		Short: "Verify the checksums of the database, and recompute its roots, indexes and proofs",
		Long: "Verify every checksum of the database's files. From the stored data, recompute the state\nroot, every " +
			"block's hashes, signature, roots and digests, and every index row, and\nverify every proof. Exit code 1 " +
			"if anything is wrong.",
		Example: "  cairn db check --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		printer := invoke.PrinterOf(command)
		progress, stop := invoke.Progress(command, "checking")
		var report datadir.Report
		err := withChain(settings.DataDir, datadir.Options{ReadOnly: true, CheckFiles: progress}, func(d *datadir.Dir) (err error) {
			report, err = d.Check(command.Context(), progress)
			return err
		})
		stop()
		if err != nil {
			return err
		}
		if !report.OK() {
			return reportProblems(printer, settings.DataDir, report)
		}
		return printer.Result(newCheckResult(report), func(t *output.Text) {
			t.Line("The database is intact: blocks %d to %d, %d transactions, %d accesses, %d state keys, %d codes.",
				report.Oldest, report.Head, report.Transactions, report.Accesses, report.StateKeys, report.Codes)
		})
	})
}

type checkResult struct {
	Oldest       types.Height `json:"oldest"`
	Head         types.Height `json:"head"`
	Blocks       uint64       `json:"blocks"`
	Transactions uint64       `json:"transactions"`
	Accesses     uint64       `json:"accesses"`
	StateKeys    uint64       `json:"stateKeys"`
	Codes        uint64       `json:"codes"`
}

func newCheckResult(r datadir.Report) checkResult {
	return checkResult{r.Oldest, r.Head, r.Blocks, r.Transactions, r.Accesses, r.StateKeys, r.Codes}
}

// reportProblems prints the problems to the standard error, except with --json, and returns an error with their number.
func reportProblems(printer *output.Printer, dir string, report datadir.Report) error {
	member, err := datadir.IsMember(dir)
	if err != nil {
		return err
	}
	problems := make([]map[string]string, len(report.Problems))
	for i, p := range report.Problems {
		problems[i] = map[string]string{"where": p.Where, "what": p.What}
		if !printer.JSON() {
			printer.Note("%s: %s", p.Where, p.What)
		}
	}
	return output.WithData(
		emergency.Problems(dir, member, uint64(report.Found)),
		map[string]any{"found": report.Found, "problems": problems})
}

func newDBPrune() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a stopped node"`
		Keep    uint64 `setting:"keep" bounds:"1..1000000000" usage:"number of newest blocks to keep"`
		Archive bool   `setting:"end-archive" usage:"prune an archive as well, which turns it into a replica for good"`
	}{DataDir: dataHome("dev")}
	return withSettings(&cobra.Command{
		Use:   "prune",
		Short: "Delete old blocks with their receipts and history",
		Long: "Delete old blocks with their receipts and history. This cannot be undone: only a node\nthat syncs " +
			"from genesis, or starts from a copy of an archive, has them again.",
		Example: "  cairn db prune --keep 100000 --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		if settings.Keep == 0 {
			return output.Usage(errors.New("--keep is required: the number of newest blocks to keep"))
		}
		var oldest types.Height
		var options datadir.Options
		options.Chain.Retention, options.Chain.EndArchive = settings.Keep, settings.Archive
		err := withChain(settings.DataDir, options, func(d *datadir.Dir) (err error) {
			oldest, err = d.Prune(command.Context())
			return err
		})
		if errors.Is(err, datadir.ErrArchive) {
			return output.Usage(fmt.Errorf("%w: --end-archive prunes it anyway, and turns it into a replica for good", err))
		}
		if err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(map[string]types.Height{"oldest": oldest}, func(t *output.Text) {
			t.Line("The oldest block is now %d.", oldest)
		})
	})
}

func newDBExport() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a stopped node"`
	}{dataHome("dev")}
	var path string
	var from, to uint64
	command := withSettings(&cobra.Command{
		Use:   "export",
		Short: "Write blocks to a file",
		Long: "Write blocks to a file. Each block is its length in 8 little-endian bytes, followed by its canonical " +
			"encoding.",
		Example: "  cairn db export --out blocks.bin --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		if path == "" {
			return output.Usage(errors.New("--out is required: the file to write"))
		}
		file, err := invoke.CreateOut(path)
		if err != nil {
			return err
		}
		progress, stop := invoke.Progress(command, "exporting")
		asked, written := datadir.Blocks{From: types.Height(from), To: types.Height(to)}, datadir.Blocks{}
		err = withChain(settings.DataDir, datadir.Options{ReadOnly: true}, func(d *datadir.Dir) (err error) {
			written, err = d.Export(command.Context(), asked, file, progress)
			return err
		})
		stop()
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		count := written.To - written.From + 1
		result := map[string]any{"blocks": count, "from": written.From, "to": written.To, "file": path}
		return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Line("%d blocks written to %s: %d to %d%s.", count, path, written.From, written.To,
				missingText(command, asked, written))
		})
	})
	// These flags are not settings: the environment cannot set them.
	invoke.OutFlag(command, &path, "file to write")
	command.Flags().Uint64Var(&from, "from", 0, "first block")
	command.Flags().Uint64Var(&to, "to", math.MaxUint64, "last block")
	return command
}

// missingText returns a clause about the part of the requested blocks that is missing, or "".
func missingText(command *cobra.Command, asked, there datadir.Blocks) string {
	flags := command.Flags()
	switch {
	case flags.Changed("to") && asked.To != there.To:
		return fmt.Sprintf(", not %d: the chain in this directory ends there", asked.To)
	case flags.Changed("from") && asked.From != there.From:
		return fmt.Sprintf(", not %d: the chain in this directory begins there", asked.From)
	}
	return ""
}

func newDBImport() *cobra.Command {
	settings := struct {
		DataDir  string `setting:"data-dir" usage:"data directory of a stopped node, or a new one"`
		Genesis  string `setting:"genesis" usage:"genesis file (default DATA-DIR/genesis.json, if it exists)"`
		Override string `setting:"override-parameters" usage:"HEIGHT:FILE of the hard fork that the blocks contain"`
	}{DataDir: dataHome("node")}
	var path string
	command := withSettings(&cobra.Command{
		Use:   "import",
		Short: "Import blocks from a file",
		Long: "Import the blocks that `cairn db export` wrote. Each block is executed again and checked\nagainst its " +
			"header; blocks already in the directory must be identical. A data directory\nwithout a chain starts " +
			"from the genesis file. If the import is interrupted, imported\nblocks stay: run the command again to " +
			"continue.",
		Example: "  cairn db import --input blocks.bin --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		if path == "" {
			return output.Usage(errors.New("--input is needed: the file to read"))
		}
		var chain datadir.Chain
		genesis, err := datadir.ReadGenesis(
			orIn(settings.DataDir, settings.Genesis, datadir.GenesisFile), settings.DataDir, nil,
		)
		switch {
		case err == nil:
			chain.Genesis = &genesis
			chain.Override, err = datadir.ReadOverride(settings.Override, genesis.Network)
		case settings.Genesis == "" && settings.Override == "" && hasChain(settings.DataDir, err):
			err = nil // continue the chain of the directory
		}
		if err != nil {
			return output.Usage(err)
		}
		return importBlocks(command, settings.DataDir, chain, path)
	})
	command.Flags().StringVar(&path, "input", "", "file to read") // no setting, like the flags of an export
	return command
}

// hasChain reports whether a command may continue the directory's chain although reading its genesis file failed: the
// file does not exist, or there is a database.
func hasChain(dir string, genesisErr error) bool {
	there, err := datadir.HasDatabase(dir)
	return errors.Is(genesisErr, fs.ErrNotExist) || err == nil && there
}

func importBlocks(command *cobra.Command, dir string, chain datadir.Chain, path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	progress, stop := invoke.Progress(command, "importing")
	var count uint64
	work := func(d *datadir.Dir) (err error) {
		count, err = d.Import(command.Context(), chain, file, func(done uint64) { progress(done, uint64(info.Size())) })
		return err
	}
	if chain.Genesis == nil { // continue the chain of the directory
		err = withChain(dir, datadir.Options{}, work)
	} else {
		err = withDir(dir, datadir.Options{}, work)
	}
	stop()
	if err != nil {
		return fmt.Errorf("after %d blocks: %w", count, err)
	}
	return invoke.PrinterOf(command).Result(map[string]any{"blocks": count, "file": path}, func(t *output.Text) {
		t.Line("Imported %d new blocks of %s.", count, path)
		t.Line("The file contains blocks only. `cairn db move` carries over a node's key, sign state, settings and " +
			"pending transactions.")
	})
}

func newDBProve() *cobra.Command {
	settings := struct {
		DataDir   string `setting:"data-dir" usage:"data directory of a stopped node"`
		ProofBits int    `setting:"proof-bits" bounds:"100,128" usage:"proven security of the proofs in bits: 100 or 128"`
	}{dataHome("dev"), 128}
	var from, to uint64
	var file string
	command := withSettings(&cobra.Command{
		Use:   "prove",
		Short: "Prove blocks without a proof from their history",
		Long: "Prove blocks that have no proof but whose history is stored, for instance blocks of an\narchive that " +
			"exceeded --witness-mib. The state is rolled back to the first of them and\nrolled forward again. If the " +
			"command is interrupted, finished proofs stay. A node\nstarted afterwards with --proof-retention 0 keeps " +
			"all proofs; with another value it\nkeeps the newest.\nWith --range FILE, a single proof of all the " +
			"blocks is written to a file instead: it\nproves that the state after the last block follows from the " +
			"state before the first.",
		Example: "  cairn db prove --from 1000 --to 2000 --data-dir ./mychain\n" +
			"  cairn db prove --from 1000 --to 1099 --range r1000.proof && cairn proof verify r1000.proof",
	}, &settings, func(command *cobra.Command) error {
		prover, err := proving.NewProver(settings.ProofBits, parallel.Run)
		if err != nil {
			return output.Usage(err)
		}
		if file != "" {
			asked := datadir.Blocks{From: types.Height(from), To: types.Height(to)}
			return proveRange(command, settings.DataDir, asked, prover, file)
		}
		progress, stop := invoke.Progress(command, "proving")
		asked, looked, made := datadir.Blocks{From: types.Height(from), To: types.Height(to)}, datadir.Blocks{}, uint64(0)
		err = withChain(settings.DataDir, datadir.Options{}, func(d *datadir.Dir) (err error) {
			looked, made, err = d.Prove(command.Context(), asked, prover, progress)
			return err
		})
		stop()
		if err != nil {
			return err
		}
		result := map[string]any{"proofs": made, "from": looked.From, "to": looked.To}
		return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Line("Made %d proofs, of blocks %d to %d%s.", made, looked.From, looked.To, missingText(command, asked, looked))
		})
	})
	// These flags are not settings: the environment cannot set them.
	command.Flags().Uint64Var(&from, "from", 0, "first block (default: the first after the oldest stored block)")
	command.Flags().Uint64Var(&to, "to", math.MaxUint64, "last block")
	command.Flags().StringVar(&file, "range", "", "file to write a single proof of all blocks from --from to --to")
	return command
}

// proveRange writes the proof of a range of blocks to a file.
func proveRange(
	command *cobra.Command, dir string, asked datadir.Blocks, prover *proving.Prover, file string,
) error {
	progress, stop := invoke.Progress(command, "proving")
	var encoded []byte
	var accesses int
	var proven datadir.Blocks
	err := withChain(dir, datadir.Options{}, func(d *datadir.Dir) (err error) {
		proven, encoded, accesses, err = d.ProveRange(command.Context(), asked, prover, progress)
		return err
	})
	stop()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, encoded, 0o644); err != nil {
		return err
	}
	result := map[string]any{"file": file, "size": len(encoded), "blocks": proven.To - proven.From + 1,
		"from": proven.From, "to": proven.To, "accesses": accesses}
	return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
		t.Line("%s proves blocks %d to %d%s, %d bytes.", file, proven.From, proven.To, missingText(command, asked, proven),
			len(encoded))
	})
}
