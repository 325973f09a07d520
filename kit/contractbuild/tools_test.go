package contractbuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

// write makes files below a directory; files that begin with #! are executable.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for file, text := range files {
		target := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(target, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func says(text string) string { return "#!/bin/sh\necho '" + text + "'\n" }

const libraries = "lib/wasm32-unknown-unknown/lib/"

// fakeRust is a toolchain whose cargo prints the file metadata.json.
func fakeRust(t *testing.T, changes map[string]string) rustTools {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"bin/rustc": says("rustc 1.63.0"), "bin/wasm-ld": says("Debian LLD 14.0.6"), "bin/rust-lld": says(""),
		"bin/cargo":                  "#!/bin/sh\ncat " + dir + "/metadata.json\n",
		libraries + "libcore-1.rlib": "core", libraries + "libcompiler_builtins-2.rlib": "builtins",
	}
	for file, text := range changes {
		if delete(files, file); text != "" {
			files[file] = text
		}
	}
	write(t, dir, files)
	return rustTools{bin: filepath.Join(dir, "bin"), libraries: filepath.Join(dir, "lib")}
}

func TestRustToolchain(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	good, err := fakeRust(t, nil).toolchain(context.Background())
	if err != nil || good["rustc"] != "1.63.0" || good["lld"] != "14.0.6" || len(good["target"]) != 64 {
		t.Fatalf("got %v, error %v", good, err)
	}
	other, err := fakeRust(t, map[string]string{libraries + "libcore-1.rlib": "another"}).toolchain(context.Background())
	if err != nil || other["target"] == good["target"] {
		t.Errorf("another library has the same hash: error %v", err)
	}
	for name, c := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"no rustc": {map[string]string{"bin/rustc": ""}, "apt install cargo rustc libstd-rust-dev-wasm32 lld"},
		"no cargo": {map[string]string{"bin/cargo": ""}, "apt install cargo rustc libstd-rust-dev-wasm32 lld"},
		"version": {
			map[string]string{"bin/rustc": says("rustc 1.85.0 (4d91de4e4)")},
			"has version 1.85.0, but modules are built with 1.63.0",
		},
		"no target": {
			map[string]string{libraries + "libcore-1.rlib": ""},
			"the target wasm32-unknown-unknown is missing: apt install libstd-rust-dev-wasm32",
		},
		"no linker": {map[string]string{"bin/rust-lld": ""}, "the linker is missing: apt install lld"},
	} {
		_, err := fakeRust(t, c.changes).toolchain(context.Background())
		var toolchain *ToolchainError
		if !errors.As(err, &toolchain) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestRustupIsNamed(t *testing.T) {
	rustup := t.TempDir()
	write(t, rustup, map[string]string{"rustc": says("rustc 1.95.0 (59807616e)")})
	t.Setenv("PATH", rustup)
	_, err := fakeRust(t, map[string]string{"bin/rustc": ""}).toolchain(context.Background())
	if err == nil || !strings.Contains(err.Error(), "found rustc 1.95.0") {
		t.Errorf("error %v, want an error with %q", err, "found rustc 1.95.0")
	}
}

// described are packages in cargo metadata's form; each depends on the next.
func described(t *testing.T, r rustTools, change func(c *crate), dirs ...string) {
	t.Helper()
	var list []map[string]any
	for i, dir := range dirs {
		c := crate{Name: filepath.Base(dir), Manifest: filepath.Join(dir, cargoFile)}
		c.Targets = append(c.Targets, struct {
			Name string   `json:"name"`
			Kind []string `json:"kind"`
			Path string   `json:"src_path"`
		}{filepath.Base(dir), []string{"cdylib"}, filepath.Join(dir, "src/lib.rs")})
		if i+1 < len(dirs) {
			c.Dependencies = append(c.Dependencies, struct {
				Name string `json:"name"`
				Path string `json:"path"`
			}{filepath.Base(dirs[i+1]), dirs[i+1]})
		}
		if i == len(dirs)-1 {
			change(&c)
		}
		list = append(list, map[string]any{
			"name": c.Name, "manifest_path": c.Manifest, "dependencies": c.Dependencies, "targets": c.Targets,
		})
	}
	text, err := json.Marshal(map[string]any{"packages": list})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(r.bin), map[string]string{"metadata.json": string(text)})
}

func TestRustCollect(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"apps/tally/Cargo.toml":         "t",
		"apps/tally/src/lib.rs":         "l",
		"apps/tally/src/deep/x.rs":      "x",
		"apps/tally/tests/t.rs":         "no",
		"apps/tally/.cargo/config.toml": "no",
		"sdk/Cargo.toml":                "s",
		"sdk/src/lib.rs":                "m",
		"Cargo.toml":                    "no",
		"Cargo.lock":                    "no",
	})
	r := fakeRust(t, nil)
	described(t, r, func(*crate) {}, filepath.Join(dir, "apps/tally"), filepath.Join(dir, "sdk"))
	s, err := r.collect(context.Background(), filepath.Join(dir, "apps/tally"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Manifest.Name != "tally" || s.Manifest.Package != "apps/tally" || s.At("src/lib.rs") != "apps/tally/src/lib.rs" {
		t.Errorf("got %+v", s.Manifest)
	}
	want := map[string]string{
		"apps/tally/Cargo.toml": "t", "apps/tally/src/lib.rs": "l", "apps/tally/src/deep/x.rs": "x", "sdk/Cargo.toml": "s",
		"sdk/src/lib.rs": "m",
	}
	if len(s.Files) != len(want) {
		t.Errorf("%d files, want %d", len(s.Files), len(want))
	}
	for file, text := range want {
		if string(s.Files[file]) != text {
			t.Errorf("%s: got %q, want %q", file, s.Files[file], text)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "sdk/src/link.rs")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.collect(context.Background(), filepath.Join(dir, "apps/tally")); !errors.Is(err, contractsource.ErrSource) {
		t.Errorf("a link: error %v, want %v", err, contractsource.ErrSource)
	}
}

func TestWhatWouldRunIsRefused(t *testing.T) {
	kind := func(kinds ...string) func(*crate) {
		return func(c *crate) {
			c.Targets = append(c.Targets, c.Targets[0])
			c.Targets[1].Kind = kinds
		}
	}
	for want, change := range map[string]func(*crate){
		"build script":      kind("custom-build"),
		"procedural macros": kind("proc-macro"),
		"depends on serde": func(c *crate) {
			c.Dependencies = append(c.Dependencies, struct {
				Name string `json:"name"`
				Path string `json:"path"`
			}{Name: "serde"})
		},
		"no library in src": func(c *crate) { c.Targets[0].Path = "/elsewhere/lib.rs" },
	} {
		r := fakeRust(t, nil)
		described(t, r, change, "/p/tally", "/p/dependency")
		if _, err := r.crates(context.Background(), "/p/tally", t.TempDir()); !errors.Is(err, contractsource.ErrSource) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func TestCompileStaysInItsSource(t *testing.T) {
	r, dir := fakeRust(t, nil), t.TempDir()
	described(t, r, func(*crate) {}, filepath.Join(dir, "tally"), "/elsewhere/secret")
	_, err := r.compile(context.Background(), contractsource.Source{Manifest: contractsource.Manifest{Package: "tally"}}, dir, t.TempDir(), Options{})
	if !errors.Is(err, contractsource.ErrSource) || !strings.Contains(err.Error(), "/elsewhere/secret") {
		t.Errorf("error %v, want %v, and %q", err, contractsource.ErrSource, "/elsewhere/secret")
	}
}

// project returns an AssemblyScript project with a compiler in node_modules, and the tools that recognize that
// compiler.
func project(t *testing.T) (string, scriptTools) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"package.json": `{"name":"@me/raffle"}`, "assembly/index.ts": "1", "assembly/more/a.ts": "2", "test/t.mjs": "no",
	}
	for _, file := range compilerFiles {
		files["node_modules/"+file] = file
	}
	write(t, dir, files)
	_, hash, err := readCompiler(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, scriptTools{hash: hash, cache: func() (string, error) { return "/nowhere", nil }}
}

func TestScriptCollect(t *testing.T) {
	dir, tools := project(t)
	s, err := tools.collect(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Files) != 2 || string(s.Files["assembly/more/a.ts"]) != "2" || s.Manifest.Name != "raffle" {
		t.Errorf("got %v", s)
	}
	if s.Manifest.Toolchain["asc"] != tools.hash || len(s.Manifest.Toolchain["sdk"]) != 64 {
		t.Errorf("got %v", s.Manifest.Toolchain)
	}
	own := filepath.Join(dir, "node_modules", scriptSDK)
	err = eachSDKFile(func(file string, content []byte) error {
		write(t, own, map[string]string{file: string(content)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.collect(context.Background(), dir); err != nil {
		t.Errorf("with this SDK: error %v", err)
	}
	write(t, own, map[string]string{"assembly/storage.ts": "changed"})
	if _, err := tools.collect(context.Background(), dir); !errors.Is(err, contractsource.ErrSource) ||
		!strings.Contains(err.Error(), "assembly/storage.ts") {
		t.Errorf("with another SDK: error %v", err)
	}
}

func TestScriptCompilerIsMissing(t *testing.T) {
	dir, tools := project(t)
	if _, err := tools.find(dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func() error
		want   string
	}{
		{
			func() error {
				return os.WriteFile(filepath.Join(dir, "node_modules/long/index.js"), []byte("evil"), 0o644)
			},
			"is another): npm install (in " + dir,
		},
		{
			func() error { return os.RemoveAll(filepath.Join(dir, "node_modules")) }, "is not installed: npm install (in " + dir,
		},
		{
			func() error { return os.Remove(filepath.Join(dir, "package.json")) },
			"npm install --prefix /nowhere --ignore-scripts assemblyscript@0.28.20",
		},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		_, err := tools.find(dir)
		var toolchain *ToolchainError
		if !errors.As(err, &toolchain) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, without %q", err, c.want)
		}
	}
}

func TestNode(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct{ answer, want string }{
		{"", "not installed: apt install nodejs npm"}, {"v18.19.0", "has version 18.19.0"}, {"v20.1.0", ""}, {"v24.0.0", ""},
	} {
		if c.answer != "" {
			write(t, dir, map[string]string{"node": says(c.answer)})
		}
		_, err := findNode(context.Background())
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) && err != nil {
			t.Errorf("%s: error %v", c.answer, err)
		}
	}
}

func TestCollectTellsLanguages(t *testing.T) {
	dir := t.TempDir()
	if _, err := Collect(context.Background(), dir); !errors.Is(err, contractsource.ErrSource) ||
		!strings.Contains(err.Error(), "neither") {
		t.Errorf("an empty directory: error %v", err)
	}
	write(t, dir, map[string]string{"Cargo.toml": "", "assembly/index.ts": ""})
	if _, err := Collect(context.Background(), dir); !errors.Is(err, contractsource.ErrSource) ||
		!strings.Contains(err.Error(), "or in") {
		t.Errorf("both: error %v", err)
	}
}

// TestOwnTestsPassRustupBy has a rustup first in PATH that fails, as it does with an empty HOME. The right cargo must
// run with the right compiler, in the project, and without RUSTFLAGS.
func TestOwnTestsPassRustupBy(t *testing.T) {
	rustup := t.TempDir()
	no := "#!/bin/sh\necho 'error: rustup could not choose a version of cargo to run' >&2\nexit 1\n"
	write(t, rustup, map[string]string{"cargo": no, "rustc": no, "rustdoc": no})
	t.Setenv("PATH", rustup)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("RUSTFLAGS", "-Cdebuginfo=2")
	t.Setenv("CAIRN_FUZZ_SEED", "7")
	project := t.TempDir()
	write(t, project, map[string]string{cargoFile: "[package]\n"})
	says := "#!/bin/sh\necho \"$@ in $PWD with $RUSTC $RUSTDOC seed $CAIRN_FUZZ_SEED flags $RUSTFLAGS\"\n"
	good := fakeRust(t, map[string]string{"bin/cargo": says})
	var told strings.Builder
	if err := good.runTests(context.Background(), project, &told); err != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	want := fmt.Sprintf("test --quiet --offline in %s with %s %s seed 7 flags \n",
		project, filepath.Join(good.bin, "rustc"), filepath.Join(good.bin, "rustdoc"))
	if told.String() != want {
		t.Errorf("got %q, want %q", told.String(), want)
	}
	err := fakeRust(t, map[string]string{"bin/cargo": ""}).runTests(context.Background(), project, &told)
	if err == nil || !strings.Contains(err.Error(), rustInstall) {
		t.Errorf("error %v, want an error with %q", err, rustInstall)
	}
	told.Reset()
	failing := fakeRust(t, map[string]string{"bin/cargo": "#!/bin/sh\necho 'test adds ... FAILED'\nexit 101\n"})
	if err := failing.runTests(context.Background(), project, &told); err == nil ||
		told.String() != "test adds ... FAILED\n" {
		t.Errorf("%v, told %q", err, told.String())
	}
}

func TestOwnTestsInAssemblyScript(t *testing.T) {
	bin := t.TempDir()
	write(t, bin, map[string]string{
		"node": "#!/bin/sh\n[ \"$1\" = --version ] && echo v20.0.0 && exit\necho \"ran $1 in $PWD\"\n",
	})
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	project := t.TempDir()
	write(t, project, map[string]string{"package.json": "{}"})
	var told strings.Builder
	err := scriptCompiler.runTests(context.Background(), project, &told)
	if err == nil || !strings.Contains(err.Error(), "npm install (in "+project) {
		t.Errorf("error %v, want an error with %q", err, "npm install (in "+project)
	}
	script := filepath.Join(project, "node_modules", scriptSDK, "bin/cairn-test.mjs")
	write(t, project, map[string]string{"node_modules/" + scriptSDK + "/bin/cairn-test.mjs": ""})
	if err := RunTests(context.Background(), project, &told); err != nil ||
		told.String() != "ran "+script+" in "+project+"\n" {
		t.Errorf("got %v, %q", err, told.String())
	}
}
