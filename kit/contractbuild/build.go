package contractbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/types"
)

// Options configures a build.
type Options struct {
	Log        io.Writer // receives the output of the tools
	From       string    // directory from which to look for npm packages, upwards
	WithSource bool      // whether to record the hash of the source in the module
	// Invariants exports the contract's invariants as functions, for tools that check them.
	Invariants bool
	debug      bool // include debug information
}

// Result is the result of a build.
type Result struct {
	Module  []byte // module for a deploy
	Linked  []byte // same code with function names
	Archive []byte // archive of the source
	// DeployGas is the gas that a deploy of the module costs, without its init, arguments and name.
	DeployGas types.Gas
	// Costliest lists the functions that cost the most of it.
	Costliest []FunctionGas
}

// Build builds the module of a source. It refuses a module that a deploy would refuse, and names the function at fault.
// A [*ToolchainError] reports a missing tool, or one that differs from the source's toolchain.
func Build(ctx context.Context, s contractsource.Source, o Options) (Result, error) {
	archive, err := s.Archive()
	if err != nil {
		return Result{}, err
	}
	if err := checkToolchain(ctx, s); err != nil {
		return Result{}, err
	}
	made, dir, err := compile(ctx, s, o)
	if err != nil {
		return Result{}, err
	}
	linked := made.module
	var hash *contractsource.Hash
	if o.WithSource {
		h := contractsource.HashOf(archive)
		hash = &h
	}
	module, err := strip(linked, hash)
	if err != nil {
		return Result{}, err
	}
	checked, err := checkModule(module, linked)
	if err != nil {
		return Result{}, err
	}
	if path, ok := holdsPath(module, dir, o.From); ok {
		return Result{}, fmt.Errorf(
			"the module contains %q, a path of this machine: built elsewhere it would have different bytes", path,
		)
	}
	gas := fees.PayloadGas(types.Deploy{Code: module}) + fees.WitnessGas(nil) + checked.DeployGas()
	costliest, err := Costliest(module, linked)
	return Result{Module: module, Linked: linked, Archive: archive, DeployGas: gas, Costliest: costliest}, err
}

// Bare returns the module without the hash of its source.
func (r Result) Bare() ([]byte, error) { return strip(r.Linked, nil) }

// checkToolchain checks that this machine has the toolchain recorded in the source.
func checkToolchain(ctx context.Context, s contractsource.Source) error {
	var here map[string]string
	var err error
	if s.Manifest.Language == contractsource.Rust {
		here, err = debianRust.toolchain(ctx)
	} else {
		here, err = scriptCompiler.toolchain()
	}
	if err != nil {
		return err
	}
	for _, name := range ToolchainNames(here) {
		if want := s.Manifest.Toolchain[name]; want != here[name] {
			return missing("the source was built with another toolchain: %s %s, but the installed version is %s", name, want, here[name])
		}
	}
	return nil
}

// compile compiles the linked module in a new temporary directory and returns the directory's name.
func compile(ctx context.Context, s contractsource.Source, o Options) (made compiled, dir string, err error) {
	top, err := os.MkdirTemp("", "cairn-build-")
	if err != nil {
		return made, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	dir, home := filepath.Join(top, "source"), filepath.Join(top, "home")
	// An empty workspace keeps cargo from searching for one in the parent directories.
	if err := os.WriteFile(
		filepath.Join(top, cargoFile), []byte("[workspace]\nexclude = [\"source\"]\n"), 0o600,
	); err != nil {
		return made, "", err
	}
	for _, d := range []string{dir, home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return made, "", err
		}
	}
	if err := unpack(s, dir); err != nil {
		return made, "", err
	}
	if s.Manifest.Language == contractsource.Rust {
		made.module, err = debianRust.compile(ctx, s, dir, home, o)
	} else {
		made, err = scriptCompiler.compile(ctx, dir, o)
	}
	return made, top, err
}

// holdsPath looks for a path of this machine in a module: a build directory or the user's home.
func holdsPath(module []byte, dirs ...string) (string, bool) {
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, home+string(filepath.Separator))
	}
	for _, dir := range dirs {
		if len(dir) > 1 && bytes.Contains(module, []byte(dir)) {
			return dir, true
		}
	}
	return "", false
}

// IgnoredVariables returns the environment variables that are set and that would change the output of plain cargo.
// Builds ignore them.
func IgnoredVariables() []string {
	return slices.DeleteFunc(slices.Clone(ignoredVariables), func(name string) bool { return os.Getenv(name) == "" })
}

// ToolchainNames returns the names of a toolchain's parts, sorted.
func ToolchainNames(toolchain map[string]string) []string { return slices.Sorted(maps.Keys(toolchain)) }
