package contractbuild

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// RunTests runs a project's own tests in its directory, with the toolchain that builds modules: Debian's cargo,
// whatever cargo is in PATH, or cairn-test of the AssemblyScript SDK. log receives their output. A [*ToolchainError]
// reports a missing tool.
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

// passed returns the environment variables that tests may see.
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
	cargo := tool{file: filepath.Join(r.bin, "cargo"), env: env, log: log, logStdout: true}
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
		_, err := tool{file: node, env: env, log: log, logStdout: true}.run(ctx, dir, file)
		return err
	}
	return missing("the SDK of the project is not installed: npm install (in %s)", dir)
}
