package contract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/kit/bindings"
	"github.com/cairn-chain/cairn/types"
)

// writtenBindings is the result of cairn contract bindings.
type writtenBindings struct {
	Language string `json:"language"`
	Name     string `json:"name"`
	File     string `json:"file,omitempty"`   // file with the program
	Source   string `json:"source,omitempty"` // the program, if it is in no file
}

func newContractBindings(a *session.App) *cobra.Command {
	var lang, name, file string
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use:   "bindings CONTRACT|FILE",
		Short: "Generate typed bindings for a contract, in Go, Rust or TypeScript",
		Long: `Generate typed bindings for a contract: its calls, results, events and errors. The ABI
comes from a contract on the chain, a module (FILE.wasm) or an ABI file (FILE.json). The
output is a package based on the Go SDK, a module based on the TypeScript SDK or, in
Rust, an interface for contracts that call this one.`,
		Example: `  cairn contract bindings gold --lang go --name gold --out gold/gold.go
  cairn contract bindings token.wasm --lang rust --out src/token.rs`,
		Args: invoke.Exactly("CONTRACT"),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		declared, err := declared(ctx, s, args[0])
		if err != nil {
			return err
		}
		if name == "" {
			name = bindingName(args[0])
		}
		source, err := bindings.Generate(lang, declared, name)
		if err != nil {
			return output.Usage(err)
		}
		result := writtenBindings{Language: lang, Name: name, File: file}
		if file == "" {
			result.Source = string(source)
		} else if err := invoke.WriteOut(file, source); err != nil {
			return err
		}
		return s.Result(result, func(t *output.Text) {
			if file == "" {
				t.Line("%s", strings.TrimSuffix(result.Source, "\n"))
				return
			}
			t.Line("Wrote %s", file)
		})
	}))
	set := command.Flags()
	set.StringVar(&lang, "lang", "", strings.Join(bindings.Languages(), ", "))
	set.StringVar(&name, "name", "", "name of the package, type or constant (default: the name of the file or "+
		"contract)")
	invoke.OutFlag(command, &file, "file to write (default: standard output)")
	// Fails only for a flag that does not exist.
	_ = command.MarkFlagRequired("lang")
	invoke.CompleteChoice(command, "lang", bindings.Languages()...)
	return command
}

// bindingName returns a name for the bindings of a contract or a file: its letters and digits.
func bindingName(argument string) string {
	base := filepath.Base(argument)
	base = strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	base = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, base)
	if base == "" || base[0] <= '9' {
		return "contract" // an account in hex
	}
	return base
}

// declared returns the ABI of a module, of a file in JSON, or of a contract on the chain.
func declared(ctx context.Context, s *session.Session, argument string) (abi.ABI, error) {
	if ext := filepath.Ext(argument); ext == ".wasm" || ext == ".json" {
		file, err := os.Open(argument)
		if err != nil {
			return abi.ABI{}, output.Usage(err)
		}
		defer file.Close()
		content, err := io.ReadAll(io.LimitReader(file, types.MaxCodeBytes+1))
		if err != nil {
			return abi.ABI{}, err
		}
		if ext == ".wasm" {
			return abi.FromCode(content)
		}
		return abi.Parse(bytes.TrimSpace(content))
	}
	asking, cancel := s.Patience(ctx)
	defer cancel()
	id, _, err := s.Contract(asking, argument)
	if err != nil {
		return abi.ABI{}, err
	}
	declared, err := s.Client.ContractABI(asking, id)
	if err == nil && declared == nil {
		err = fmt.Errorf("%w: %s", abi.ErrNoABI, argument)
	}
	if err != nil {
		return abi.ABI{}, err
	}
	return *declared, nil
}
