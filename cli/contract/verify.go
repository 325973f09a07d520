package contract

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

// verifiedContract is the result of cairn contract verify.
type verifiedContract struct {
	Verified   bool                `json:"verified"` // always true: otherwise the command fails
	CodeHash   contractsource.Hash `json:"codeHash"`
	SourceHash contractsource.Hash `json:"sourceHash"`
	Toolchain  map[string]string   `json:"toolchain"`
}

// compileWarning is shown before an untrusted source is compiled.
const compileWarning = "This compiles source code that may come from a stranger. Nothing of it is run, and build " +
	"scripts, procedural macros and JavaScript are refused. But compilers are not designed for hostile input: " +
	"compile an untrusted source on a machine, or as a user, without valuable data."

func newContractVerify(a *session.App) *cobra.Command {
	var source string
	var yes bool
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use:   "verify CONTRACT|FILE.wasm [--source ARCHIVE|DIR]",
		Short: "Verify a contract's source: compile it, and compare it with the code on the chain",
		Long: `Compile a contract's source in an empty directory, and compare the result byte by byte
with the code on the chain, or in a file. The source is an archive written by cairn
contract build, or a project directory. Without --source it is the archive whose hash is
in the code, downloaded from the node if it was published there.

"Verified" means that this source compiles to exactly these bytes with this toolchain.
It does not mean that the source is safe, or who wrote it. Nothing of the source is run,
but compilers are not designed for hostile input: --yes confirms that it may be
compiled. If the installed toolchain is not the one of the source, nothing is compared,
and the command says so. Verified sources are remembered, and shown by cairn contract
show.`,
		Example: `  cairn contract verify gold
  cairn contract verify gold --source nep20.source.tar
  cairn contract verify build/tally.wasm --source .`,
		Args: invoke.Exactly("CONTRACT"),
	}, session.NodeSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		code, err := codeOf(ctx, s, args[0])
		if err != nil {
			return err
		}
		if err := s.Confirm(ctx, yes, "yes", compileWarning); err != nil {
			return err
		}
		read, from, err := tracing.SourceFor(ctx, s, code, source)
		if err != nil {
			return tracing.NotChecked(err)
		}
		result, err := verify(ctx, code, read, contractbuild.Options{Log: command.ErrOrStderr(), From: from})
		if err != nil {
			return tracing.NotChecked(err)
		}
		if err := keepVerified(s, code, result); err != nil {
			return err
		}
		return s.Result(result, result.people)
	}))
	set := command.Flags()
	set.StringVar(&source, "source", "", "source archive or project directory (default: downloaded from the node)")
	set.BoolVar(&yes, "yes", false, "compile without asking for confirmation")
	return command
}

// codeOf returns the code in a file whose name ends in .wasm, or a contract's code.
func codeOf(ctx context.Context, s *session.Session, argument string) ([]byte, error) {
	if strings.HasSuffix(argument, ".wasm") {
		code, err := readCode(argument)
		return code, output.Usage(err)
	}
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	return codeOnChain(ctx, s, argument)
}

// codeOnChain returns a contract's code.
func codeOnChain(ctx context.Context, s *session.Session, contract string) ([]byte, error) {
	id, _, err := s.Contract(ctx, contract)
	if err != nil {
		return nil, err
	}
	code, err := s.Client.ContractCode(ctx, id)
	if err == nil && len(code) == 0 {
		err = fmt.Errorf("there is no contract %s", id)
	}
	return code, err
}

// verify compiles a source, and compares the module with code.
func verify(
	ctx context.Context, code []byte, source contractsource.Source, options contractbuild.Options,
) (verifiedContract, error) {
	_, options.WithSource = contractbuild.SourceOf(code)
	built, err := contractbuild.Build(ctx, source, options)
	if err != nil {
		return verifiedContract{}, err
	}
	if different := contractbuild.Differences(built.Module, code, built.Linked); different != nil {
		return verifiedContract{}, output.WithData(
			fmt.Errorf("not verified: the source compiles to other code: %s", strings.Join(different, "; ")),
			map[string]any{"differences": different},
		)
	}
	return verifiedContract{
		Verified: true, CodeHash: contractsource.HashOf(code), SourceHash: contractsource.HashOf(built.Archive),
		Toolchain: source.Manifest.Toolchain,
	}, nil
}

func (v verifiedContract) people(t *output.Text) {
	t.Line("Verified: the source gives these bytes with this toolchain.\n")
	fields := []output.Field{{Name: "Code", Value: v.CodeHash}, {Name: "Source", Value: v.SourceHash}}
	for _, name := range contractbuild.ToolchainNames(v.Toolchain) {
		fields = append(fields, output.Field{Name: name, Value: v.Toolchain[name]})
	}
	t.Fields(fields...)
}
