package contractbuild

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// RunTests runs the tests that a project has of itself, in its directory, with the toolchain that modules are made
// with. That is Debian's cargo, whichever other one is in PATH, or cairn-test of the SDK for AssemblyScript. What they
// tell goes to the log. An error of type [*ToolchainError] says what is missing.
func RunTests(ctx context.Context, dir string, log io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if exists(filepath.Join(dir, cargoFile)) {
		return debianRust.runTests(ctx, dir, log)
	}
	return scriptCompiler.runTests(ctx, dir, log)
}

// passed are the variables of the environment that tests may look at.
func passed() (variables []string) {
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "CAIRN_") {
			variables = append(variables, variable)
		}
	}
	return variables
}

func (r rustTools) runTests(ctx context.Context, dir string, log io.Writer) error {
	if _, err := r.toolchain(ctx); err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "cairn-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	env := append(passed(), "PATH="+r.bin+":/bin", "HOME="+home, "CARGO_HOME="+filepath.Join(home, "cargo"),
		"RUSTC="+filepath.Join(r.bin, "rustc"), "RUSTDOC="+filepath.Join(r.bin, "rustdoc"))
	cargo := tool{file: filepath.Join(r.bin, "cargo"), env: env, log: log, tells: true}
	_, err = cargo.run(ctx, dir, "test", "--quiet", "--offline")
	return err
}

func (t scriptTools) runTests(ctx context.Context, dir string, log io.Writer) error {
	node, err := findNode(ctx)
	if err != nil {
		return err
	}
	for _, d := range above(dir) {
		file := filepath.Join(d, "node_modules", filepath.FromSlash(scriptSDK), "bin", "cairn-test.mjs")
		if !exists(file) {
			continue
		}
		env := append(passed(), "PATH=/usr/bin:/bin", "HOME="+dir)
		_, err := tool{file: node, env: env, log: log, tells: true}.run(ctx, dir, file)
		return err
	}
	return missing("the SDK of the project is not installed: npm install (in %s)", dir)
}
