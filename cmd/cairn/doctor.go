package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/internal/cli"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/internal/node"
)

// finding is what the doctor says of one thing.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"` // ok, warning or problem
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

const (
	stateOK      = "ok"
	stateWarning = "warning"
	stateProblem = "problem"
)

func newDoctor() *cobra.Command {
	settings := nodeSettings{DataDir: dataHome("dev"), RPCAddr: defaultRPCAddr, AdminAddr: defaultAdminAddr}
	return withSettingsFile(&cobra.Command{
		Use:     "doctor",
		Short:   "Check machine, data directory and ports, and say what to do",
		Long:    "Check what a node needs of this machine, its data directory and its ports, and say what to do. Exit 1 on a problem.",
		Example: "  cairn doctor\n  cairn doctor --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		findings := []finding{checkProcessor(), checkFiles()}
		findings = append(findings, checkDataDir(command.Context(), settings)...)
		for _, address := range []string{settings.RPCAddr, settings.AdminAddr} {
			findings = append(findings, checkPort(command.Context(), address))
		}
		return printFindings(cli.PrinterOf(command), findings)
	})
}

func printFindings(printer *output.Printer, findings []finding) error {
	var problems []string
	rows := make([][]any, len(findings))
	for i, f := range findings {
		if f.State == stateProblem {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", f.Check, f.Detail, f.Advice))
		}
		rows[i] = []any{f.State, f.Check, f.Detail, f.Advice}
	}
	var failed error
	if len(problems) > 0 {
		failed = errors.New(strings.Join(problems, "; "))
		if printer.JSON() {
			return failed // one document: the failure
		}
	}
	return errors.Join(failed, printer.Result(findings, func(t *output.Text) {
		t.Table([]string{"STATE", "CHECK", "FOUND", "WHAT TO DO"}, rows)
	}))
}

func checkProcessor() finding {
	kernels, fast := node.ActiveKernels()
	f := finding{
		Check: "processor", State: stateOK,
		Detail: fmt.Sprintf("%d cores, hashing with %s, signatures with %s", runtime.NumCPU(), kernels.Hash, kernels.Signature),
	}
	if !fast {
		f.State, f.Advice = stateWarning, "state roots and signatures take several times as long as with AVX-512: fine for development"
	}
	if runtime.NumCPU() < 2 {
		f.State, f.Advice = stateWarning, "signatures and execution share one core: give the node two"
	}
	return f
}

// minOpenFiles is what the database and 10,000 connections need.
const minOpenFiles = 12_000

func checkFiles() finding {
	limit, err := node.OpenFilesLimit()
	if err != nil {
		return finding{Check: "open files", State: stateWarning, Detail: "the limit is not known: " + err.Error()}
	}
	f := finding{Check: "open files", State: stateOK, Detail: fmt.Sprintf("at most %d", limit)}
	if limit < minOpenFiles {
		f.State, f.Advice = stateWarning, fmt.Sprintf("raise it for many connections: ulimit -n %d", minOpenFiles)
	}
	return f
}

func checkDataDir(ctx context.Context, settings nodeSettings) []finding {
	dir := settings.DataDir
	if dir == "" {
		return []finding{{"data directory", stateProblem, "none is set and there is no home directory", "name one with --data-dir"}}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return []finding{{"data directory", stateOK, dir + " is not there yet", ""}}
	}
	findings := []finding{checkDisk(dir), checkDatabase(dir)}
	if _, err := os.Stat(filepath.Join(dir, node.GenesisFile)); err == nil {
		findings = append(findings, checkFile("genesis", func() error {
			_, err := node.ReadGenesis(filepath.Join(dir, node.GenesisFile))
			return err
		}), checkFile("producer's key", func() error {
			_, err := node.ReadProtocolKey(orIn(dir, settings.ProtocolKey, node.ProtocolKeyFile))
			return err
		}))
	}
	return findings
}

func checkFile(name string, read func() error) finding {
	if err := read(); err != nil {
		return finding{name, stateProblem, err.Error(), "put the right file in its place"}
	}
	return finding{name, stateOK, "readable", ""}
}

// minFreeDisk is a day of a busy chain.
const minFreeDisk = 20 << 30

func checkDisk(dir string) finding {
	_, free, err := node.Disk(dir)
	if err != nil {
		return finding{"disk", stateProblem, err.Error(), "check the directory's permissions"}
	}
	f := finding{"disk", stateOK, fmt.Sprintf("%d GiB free", free>>30), ""}
	if free < minFreeDisk {
		f.State, f.Advice = stateWarning, "make room: a full disk stops the chain (no block is lost)"
	}
	return f
}

func checkDatabase(dir string) finding {
	genesis, err := node.StoredGenesis(dir)
	switch {
	case errors.Is(err, node.ErrLocked):
		return finding{"database", stateOK, "in use by a running node", ""}
	case err != nil:
		return finding{"database", stateProblem, err.Error(), "see `cairn db check`, or restore a copy"}
	case genesis == nil:
		return finding{"database", stateOK, "no chain yet", ""}
	}
	return finding{"database", stateOK, fmt.Sprintf("chain id %d, %s", genesis.ChainID, genesis.Network), ""}
}

func checkPort(ctx context.Context, address string) finding {
	name := "port " + address
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return finding{name, stateWarning, "cannot be listened on", "a node may run already; otherwise choose another with --rpc-addr or --admin-addr"}
	}
	if err := listener.Close(); err != nil {
		return finding{name, stateWarning, err.Error(), ""}
	}
	return finding{name, stateOK, "free", ""}
}
