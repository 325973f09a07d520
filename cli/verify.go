package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
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

func (a *app) newContractVerify() *cobra.Command {
	var source string
	var yes bool
	command := a.completeNames(a.define(&cobra.Command{
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
		Args: exactly("CONTRACT"),
	}, nodeSettings, func(ctx context.Context, s *session, command *cobra.Command, args []string) error {
		code, err := s.codeOf(ctx, args[0])
		if err != nil {
			return err
		}
		if err := s.confirm(ctx, yes, "yes", compileWarning); err != nil {
			return err
		}
		read, from, err := s.sourceFor(ctx, code, source)
		if err != nil {
			return notChecked(err)
		}
		result, err := verify(ctx, code, read, contractbuild.Options{Log: command.ErrOrStderr(), From: from})
		if err != nil {
			return notChecked(err)
		}
		if err := s.keepVerified(code, result); err != nil {
			return err
		}
		return s.Result(result, result.people)
	}))
	set := command.Flags()
	set.StringVar(&source, "source", "", "source archive or project directory (default: downloaded from the node)")
	set.BoolVar(&yes, "yes", false, "compile without asking for confirmation")
	return command
}

// notChecked adds to the error of a missing toolchain that nothing was compared.
func notChecked(err error) error {
	var toolchain *contractbuild.ToolchainError
	if errors.As(err, &toolchain) {
		return fmt.Errorf("not checked: %w", err)
	}
	return err
}

// codeOf returns the code in a file whose name ends in .wasm, or a contract's code.
func (s *session) codeOf(ctx context.Context, argument string) ([]byte, error) {
	if strings.HasSuffix(argument, ".wasm") {
		code, err := readCode(argument)
		return code, output.Usage(err)
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	return s.codeOnChain(ctx, argument)
}

// codeOnChain returns a contract's code.
func (s *session) codeOnChain(ctx context.Context, contract string) ([]byte, error) {
	id, _, err := s.contract(ctx, contract)
	if err != nil {
		return nil, err
	}
	code, err := s.client.ContractCode(ctx, id)
	if err == nil && len(code) == 0 {
		err = fmt.Errorf("there is no contract %s", id)
	}
	return code, err
}

// sourceFor collects the source in a directory or reads an archive; without a path it downloads the source that the
// code claims. from is the directory in which to find the packages that compile it: the project's directory, or the
// working directory for an archive.
func (s *session) sourceFor(
	ctx context.Context, code []byte, path string,
) (source contractsource.Source, from string, err error) {
	if path == "" {
		if source, err = s.publishedSource(ctx, code); err == nil {
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
	archive, err := readArchive(path)
	if err == nil {
		source, err = contractsource.ReadArchive(archive)
	}
	if err == nil {
		from, err = os.Getwd()
	}
	return source, from, err
}

// readArchive reads at most one byte more than an archive may have.
func readArchive(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, output.Usage(err)
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, contractsource.MaxArchiveBytes+1))
}

// publishedSource downloads the source that a code claims from the node.
func (s *session) publishedSource(ctx context.Context, code []byte) (contractsource.Source, error) {
	hash, ok := contractbuild.SourceOf(code)
	if !ok {
		return contractsource.Source{}, output.Usage(errors.New("the code contains no source hash: give the source with --source"))
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	archive, err := s.client.Source(ctx, hash, contractsource.MaxArchiveBytes)
	var status *client.StatusError
	if errors.As(err, &status) && status.Status == http.StatusNotFound {
		return contractsource.Source{}, fmt.Errorf(
			"the source %s, named by the code, is not published on this node: give an archive with --source", hash,
		)
	}
	if err != nil {
		return contractsource.Source{}, err
	}
	return contractsource.ReadArchive(archive)
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
