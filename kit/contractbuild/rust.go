package contractbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

const (
	rustVersion = "1.63.0"
	rustInstall = "apt install cargo rustc libstd-rust-dev-wasm32 lld"
	wasmTarget  = "wasm32-unknown-unknown"
	cargoFile   = "Cargo.toml"
)

// rustTools locates Debian's toolchain. No other is used, as another one compiles the same source to other bytes.
type rustTools struct{ bin, libraries string }

var debianRust = rustTools{bin: "/usr/bin", libraries: "/usr/lib/rustlib"}

// toolchain returns the versions that a module depends on besides its source. Its errors are of type [*ToolchainError].
func (r rustTools) toolchain(ctx context.Context) (map[string]string, error) {
	version, err := r.version(ctx, filepath.Join(r.bin, "rustc"))
	switch {
	case err != nil || !exists(filepath.Join(r.bin, "cargo")):
		return nil, missing(
			"rustc %s of Debian 12 is not installed in %s: %s%s", rustVersion, r.bin, rustInstall, r.other(ctx),
		)
	case version != rustVersion:
		return nil,
			missing("%s/rustc has version %s, but modules are built with %s, the version in Debian 12, because "+
				"another version gives different bytes. To try the contract anyway: cargo build --release --target %s", r.bin, version, rustVersion, wasmTarget)
	}
	target, err := r.libraryHash()
	if err != nil {
		return nil, err
	}
	if !exists(filepath.Join(r.bin, "rust-lld")) || !exists(filepath.Join(r.bin, "wasm-ld")) {
		return nil, missing("the linker is missing: apt install lld")
	}
	linker, err := r.version(ctx, filepath.Join(r.bin, "wasm-ld"))
	if err != nil {
		return nil, missing("the linker does not say its version: %s", err)
	}
	return map[string]string{"rustc": version, "lld": linker, "target": target}, nil
}

// version returns the version number in a tool's output for --version.
func (r rustTools) version(ctx context.Context, file string) (string, error) {
	text, err := tool{file: file, env: r.environment(os.TempDir())}.run(ctx, "/", "--version")
	if err != nil {
		return "", err
	}
	for _, word := range strings.Fields(string(text)) {
		if word[0] >= '0' && word[0] <= '9' {
			return word, nil
		}
	}
	return "", fmt.Errorf("%s --version printed no version: %q", file, text)
}

// other names an installed toolchain that is not Debian's.
func (r rustTools) other(ctx context.Context) string {
	file, err := exec.LookPath("rustc")
	if err != nil {
		return ""
	}
	text, err := tool{file: file, env: os.Environ()}.run(ctx, "/", "--version")
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (found %s as %s, which makes other bytes)", strings.TrimSpace(string(text)), file)
}

// libraryHash returns the SHA-256 of the names and hashes of the target's libraries, which are linked into every
// module.
func (r rustTools) libraryHash() (string, error) {
	all := sha256.New()
	for _, library := range []string{"libcompiler_builtins-*.rlib", "libcore-*.rlib"} {
		files, err := filepath.Glob(filepath.Join(r.libraries, wasmTarget, "lib", library))
		if err != nil {
			return "", err
		}
		if len(files) != 1 {
			return "", missing("the target %s is missing: apt install libstd-rust-dev-wasm32", wasmTarget)
		}
		content, err := os.ReadFile(files[0])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%s %x\n", filepath.Base(files[0]), sha256.Sum256(content))
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// environment returns the complete environment of the tools. home is a directory for their use.
func (r rustTools) environment(home string) []string {
	return []string{
		"PATH=" + r.bin + ":/bin", "HOME=" + home, "CARGO_HOME=" + filepath.Join(home, "cargo"),
		"CARGO_TARGET_DIR=" + filepath.Join(home, "target"), "RUSTC=" + filepath.Join(r.bin, "rustc"), "LC_ALL=C",
		"SOURCE_DATE_EPOCH=0",
	}
}

// ignoredVariables change cargo's output and are not passed to it.
var ignoredVariables = []string{
	"RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER",
	"RUSTUP_TOOLCHAIN",
}

// crate is a package as cargo metadata describes it.
type crate struct {
	Name         string `json:"name"`
	Manifest     string `json:"manifest_path"`
	Dependencies []struct {
		Name string `json:"name"`
		Path string `json:"path"` // empty for a package from a registry or repository
	} `json:"dependencies"`
	Targets []struct {
		Name string   `json:"name"`
		Kind []string `json:"kind"`
		Path string   `json:"src_path"`
	} `json:"targets"`
}

func (c crate) dir() string { return filepath.Dir(c.Manifest) }

// crates returns the package in a directory, first, and its dependencies. home is a directory for cargo. It refuses a
// package that would run code while being compiled, or whose source is not local, with an error that wraps
// [contractsource.ErrSource].
func (r rustTools) crates(ctx context.Context, dir, home string) ([]crate, error) {
	var all []crate
	known := map[string]bool{}
	for next := []string{dir}; len(next) > 0; next = next[1:] {
		manifest := filepath.Join(next[0], cargoFile)
		if known[manifest] {
			continue
		}
		known[manifest] = true
		c, err := r.crate(ctx, manifest, home)
		if err != nil {
			return nil, err
		}
		if err := c.check(); err != nil {
			return nil, err
		}
		all = append(all, c)
		for _, d := range c.Dependencies {
			next = append(next, filepath.Clean(d.Path))
		}
		if len(all) > contractsource.MaxFiles {
			return nil, contractsource.Errorf("more than %d packages", contractsource.MaxFiles)
		}
	}
	return all, nil
}

func (r rustTools) crate(ctx context.Context, manifest, home string) (crate, error) {
	cargo := tool{file: filepath.Join(r.bin, "cargo"), env: r.environment(home)}
	// Run in the root directory, as cargo reads .cargo/config.toml of every parent of the working directory.
	text, err := cargo.run(
		ctx, "/", "metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest,
	)
	if err != nil {
		return crate{}, err
	}
	var metadata struct {
		Packages []crate `json:"packages"`
	}
	if err := json.Unmarshal(text, &metadata); err != nil {
		return crate{}, fmt.Errorf("cargo metadata: %w", err)
	}
	at := slices.IndexFunc(metadata.Packages, func(c crate) bool { return c.Manifest == manifest })
	if at < 0 {
		return crate{}, contractsource.Errorf("%s is not the Cargo.toml of a package", manifest)
	}
	return metadata.Packages[at], nil
}

// check refuses a package that cannot be compiled without running code from its sources.
func (c crate) check() error {
	for _, d := range c.Dependencies {
		if d.Path == "" {
			return contractsource.Errorf("%s depends on %s, which is not beside it: a build takes sources only, so copy the "+
				"crate's into the "+
				"project, and depend on it by path", c.Name, d.Name)
		}
	}
	for _, t := range c.Targets {
		switch {
		case slices.Contains(t.Kind, "custom-build"):
			return contractsource.Errorf("%s has a build script, which would run on the machine of everybody who "+
				"verifies the contract", c.Name)
		case slices.Contains(t.Kind, "proc-macro"):
			return contractsource.Errorf("%s has procedural macros, which would run on the machine of everybody who "+
				"verifies the contract", c.Name)
		}
	}
	if _, _, ok := c.library(); !ok {
		return contractsource.Errorf("%s has no library in src", c.Name)
	}
	return nil
}

// library returns the name and the kinds of the package's library.
func (c crate) library() (name string, kinds []string, ok bool) {
	for _, t := range c.Targets {
		isLibrary := slices.ContainsFunc(t.Kind, func(kind string) bool { return strings.HasSuffix(kind, "lib") })
		if isLibrary && strings.HasPrefix(t.Path, filepath.Join(c.dir(), "src")+string(filepath.Separator)) {
			return t.Name, t.Kind, true
		}
	}
	return "", nil, false
}

// collect collects the source of the package in a directory: its Cargo.toml and src, and those of its dependencies.
func (r rustTools) collect(ctx context.Context, dir string) (contractsource.Source, error) {
	toolchain, err := r.toolchain(ctx)
	if err != nil {
		return contractsource.Source{}, err
	}
	home, err := os.MkdirTemp("", "cairn-build-")
	if err != nil {
		return contractsource.Source{}, err
	}
	defer os.RemoveAll(home)
	crates, err := r.crates(ctx, dir, home)
	if err != nil {
		return contractsource.Source{}, err
	}
	name, kinds, _ := crates[0].library()
	if !slices.Contains(kinds, "cdylib") {
		return contractsource.Source{}, contractsource.Errorf(
			"%s is not a contract: its Cargo.toml needs\n[lib]\ncrate-type = [\"cdylib\"]", crates[0].Name,
		)
	}
	root := dir
	for _, c := range crates {
		for !within(c.dir(), root) {
			root = filepath.Dir(root)
		}
	}
	if root == filepath.Dir(root) {
		return contractsource.Source{}, contractsource.Errorf("the package and its dependencies have no common " +
			"directory")
	}
	s := contractsource.Source{Files: map[string][]byte{}}
	for _, c := range crates {
		if err := add(&s, root, filepath.Join(c.dir(), cargoFile)); err != nil {
			return contractsource.Source{}, err
		}
		if err := addAll(&s, root, filepath.Join(c.dir(), "src")); err != nil {
			return contractsource.Source{}, err
		}
	}
	s.Manifest = contractsource.Manifest{
		Format: contractsource.Format, Language: contractsource.Rust, Name: name, Package: slashed(root, dir), Toolchain: toolchain,
	}
	return s, nil
}

// profile holds the compiler settings of contracts, which override Cargo.toml. They match contracts/rust/Cargo.toml,
// except that function names are kept until the module is checked.
var profile = []string{
	`opt-level="z"`, `lto=true`, `codegen-units=1`, `panic="abort"`, `strip="debuginfo"`, `debug=false`,
	`incremental=false`,
	`overflow-checks=true`, `package.cairn-contract.opt-level="s"`, `package.cairn-contract.overflow-checks=false`,
}

// compile compiles the linked module of a source unpacked in dir. home is a directory beside it.
func (r rustTools) compile(ctx context.Context, s contractsource.Source, dir, home string, o Options) ([]byte, error) {
	crates, err := r.crates(ctx, filepath.Join(dir, filepath.FromSlash(s.Manifest.Package)), home)
	if err != nil {
		return nil, err
	}
	for _, c := range crates {
		if !within(c.dir(), dir) {
			return nil, contractsource.Errorf("it depends on %s, which is not in it", c.dir())
		}
	}
	// A package in a subdirectory is made a member of a workspace, so that the root's profile and paths apply.
	if _, ok := s.Files[cargoFile]; !ok {
		workspace := fmt.Sprintf("[workspace]\nmembers = [%q]\n", s.Manifest.Package)
		if err := os.WriteFile(filepath.Join(dir, cargoFile), []byte(workspace), 0o600); err != nil {
			return nil, err
		}
	}
	flags := []string{
		"-Ctarget-cpu=mvp", "-Clink-arg=-zstack-size=16384", "-Clink-arg=--initial-memory=65536",
		"--remap-path-prefix=" + dir + "=.",
	}
	settings := profile
	if o.debug { // with debug information the linker does not write short LEB128 numbers
		settings = append(slices.Clone(profile), "strip=false", "debug=1")
	} else {
		flags = append(flags, "-Clink-arg=--compress-relocations")
	}
	encoded, err := json.Marshal(flags)
	if err != nil {
		return nil, err
	}
	args := []string{
		"build", "--quiet", "--lib", "--release", "--offline", "--target", wasmTarget,
		"--manifest-path", filepath.Join(dir, filepath.FromSlash(s.At(cargoFile))),
		"--config", "target." + wasmTarget + ".rustflags=" + string(encoded),
	}
	for _, setting := range settings {
		args = append(args, "--config", "profile.release."+setting)
	}
	if o.Invariants {
		args = append(args, "--features", "cairn-contract/invariants")
	}
	cargo := tool{file: filepath.Join(r.bin, "cargo"), env: r.environment(home), log: o.Log}
	if _, err := cargo.run(ctx, "/", args...); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(home, "target", wasmTarget, "release", path.Base(s.Manifest.Name)+".wasm"))
}
