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

// Options are how a build goes on beside its source.
type Options struct {
	Log        io.Writer // what the compiler tells
	From       string    // a directory: npm's packages are looked for in it and above
	WithSource bool      // whether the module says the hash of its source
	// Invariants makes a module that has the contract's invariants as functions, which tools ask.
	Invariants bool
	debug      bool // with debug information
}

// Result is what a build makes.
type Result struct {
	Module  []byte // what a deploy takes
	Linked  []byte // the same code with the names of functions
	Archive []byte // the source
	// DeployGas is what a deploy of the module takes in gas, but for its init, its arguments and its name.
	DeployGas types.Gas
	// Dearest are the functions that have most of it.
	Dearest []FunctionGas
}

// Build makes the module of a source. What a deploy would refuse it refuses, with the name of the function. An error of
// type [*ToolchainError] says that something is missing here, or is not what the source was built with.
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
			"the module holds %q, a path of this machine: built elsewhere it would have other bytes", path,
		)
	}
	gas := fees.IntrinsicGas(types.Deploy{Code: module}) + checked.DeployGas()
	dearest, err := Dearest(module, linked)
	return Result{Module: module, Linked: linked, Archive: archive, DeployGas: gas, Dearest: dearest}, err
}

// Bare is the module without the hash of its source.
func (r Result) Bare() ([]byte, error) { return strip(r.Linked, nil) }

// checkToolchain compares the toolchain of this machine with the one that the source was collected with.
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
			return missing("the source was built with another toolchain: %s %s, and here it is %s", name, want, here[name])
		}
	}
	return nil
}

// compile makes the linked module in a new directory, which it names.
func compile(ctx context.Context, s contractsource.Source, o Options) (made compiled, dir string, err error) {
	top, err := os.MkdirTemp("", "cairn-build-")
	if err != nil {
		return made, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	dir, home := filepath.Join(top, "source"), filepath.Join(top, "home")
	// A workspace without members keeps cargo from looking for another one further up.
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

// holdsPath looks for a path of this machine in a module: where it was built, and whose it is.
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

// IgnoredVariables are those of the environment that would change what a plain cargo makes, and change nothing here.
func IgnoredVariables() []string {
	return slices.DeleteFunc(slices.Clone(ignoredVariables), func(name string) bool { return os.Getenv(name) == "" })
}

// ToolchainNames are the parts of a toolchain in their order.
func ToolchainNames(toolchain map[string]string) []string { return slices.Sorted(maps.Keys(toolchain)) }
