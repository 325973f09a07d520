package contract

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/types"
)

// builtContract is the result of cairn contract build.
type builtContract struct {
	Module    string              `json:"module"`
	Size      int                 `json:"size"` // bytes
	CodeHash  contractsource.Hash `json:"codeHash"`
	DeployGas types.Gas           `json:"deployGas"` // without init
	// Costliest are the functions that have most of it.
	Costliest  []contractbuild.FunctionGas `json:"dearest"`
	Source     string                      `json:"source"`
	SourceHash contractsource.Hash         `json:"sourceHash"`
}

func newContractBuild(a *session.App) *cobra.Command {
	var out string
	var withoutSource bool
	command := a.Define(&cobra.Command{
		Use:   "build [DIR]",
		Short: "Compile a contract reproducibly, and show the gas of its deployment",
		Long: `Compile the contract in a directory, written in Rust or AssemblyScript, and check it
against the rules of the chain.

The build is reproducible: the same source gives the same bytes in any directory and for
any user, because only the sources are used, with fixed flags and nothing from the
environment. The sources are also written as an archive beside the module, and the
module contains the archive's hash, so that others can verify it with cairn contract
verify. Build scripts, procedural macros and registry packages are refused.

Rust needs the toolchain of Debian 12, AssemblyScript needs the SDK's version of
assemblyscript from npm; anything missing is reported.`,
		Example: "  cairn contract build\n  cairn contract build contracts/rust/examples/nep20 --out /tmp",
		Args:    cobra.MaximumNArgs(1),
	}, nil, func(ctx context.Context, s *session.Session, command *cobra.Command, args []string) error {
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		out = cmp.Or(out, filepath.Join(dir, "build"))
		for _, name := range contractbuild.IgnoredVariables() {
			s.Note("%s is set, but ignored", name)
		}
		source, err := contractbuild.Collect(ctx, dir)
		if err != nil {
			return err
		}
		if err := contractbuild.CheckStorage(source); err != nil {
			return err
		}
		from, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		options := contractbuild.Options{Log: command.ErrOrStderr(), From: from, WithSource: !withoutSource}
		built, err := contractbuild.Build(ctx, source, options)
		if err != nil {
			return err
		}
		result, err := writeBuilt(out, source.Manifest.Name, built)
		if err != nil {
			return err
		}
		return s.Result(result, result.people)
	})
	set := command.Flags()
	invoke.OutFlag(command, &out, "directory for the module and the archive (default DIR/build)")
	set.BoolVar(&withoutSource, "no-source", false, "leave the source hash out of the module, which saves 48 bytes")
	return command
}

// writeBuilt writes NAME.wasm and NAME.source.tar.
func writeBuilt(dir, name string, built contractbuild.Result) (builtContract, error) {
	result := builtContract{
		Module:     filepath.Join(dir, name+".wasm"),
		Size:       len(built.Module),
		CodeHash:   contractsource.HashOf(built.Module),
		DeployGas:  built.DeployGas,
		Costliest:  built.Costliest,
		Source:     filepath.Join(dir, name+".source.tar"),
		SourceHash: contractsource.HashOf(built.Archive),
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return result, err
	}
	if err := os.WriteFile(result.Source, built.Archive, 0o644); err != nil {
		return result, err
	}
	return result, os.WriteFile(result.Module, built.Module, 0o644)
}

// costliestText names the costliest functions of a module: "transfer 3502090, init 2801440".
func costliestText(functions []contractbuild.FunctionGas) string {
	parts := make([]string, len(functions))
	for i, f := range functions {
		parts[i] = fmt.Sprintf("%s %d", f.Function, f.Gas)
	}
	return strings.Join(parts, ", ")
}

func (b builtContract) people(t *output.Text) {
	t.Fields(
		output.Field{Name: "Module", Value: b.Module},
		output.Field{Name: "Code", Value: fmt.Sprintf("%d bytes, SHA-256 %s", b.Size, b.CodeHash)},
		output.Field{Name: "Deploy", Value: fmt.Sprintf("%d gas, plus the gas of init", b.DeployGas)},
		output.Field{Name: "Mostly for", Value: costliestText(b.Costliest)},
		output.Field{Name: "Source", Value: b.Source}, output.Field{Name: "Source hash", Value: b.SourceHash},
	)
}
