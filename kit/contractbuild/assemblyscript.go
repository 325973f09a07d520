package contractbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/internal/contractsource"
)

const (
	scriptEntry   = "assembly/index.ts"
	scriptSDK     = "@cairn-chain/contract"
	scriptVersion = "0.28.20"
	nodeVersion   = 20
)

// compilerFiles lists the compiler's files in node_modules.
var compilerFiles = []string{
	"assemblyscript/dist/asc.js", "assemblyscript/dist/assemblyscript.js", "assemblyscript/dist/transform.js",
	"assemblyscript/package.json", "binaryen/index.js", "binaryen/package.json", "long/index.js", "long/package.json",
}

// scriptTools locates the AssemblyScript compiler. The hash of its code identifies it, so its location does not matter.
type scriptTools struct {
	hash  string                 // hash of the compiler
	cache func() (string, error) // directory for an installation outside a project
}

var scriptCompiler = scriptTools{
	hash:  "4561455de41fa46017baabc997dd83f499e09696a8d70e2bc4057a6d0071353d",
	cache: func() (string, error) { dir, err := os.UserCacheDir(); return filepath.Join(dir, "cairn", "asc"), err },
}

// sdkHash returns the SHA-256 of the embedded SDK: sources compiled into each contract, and the transform that turns a
// contract's declarations into exports.
func sdkHash() (string, error) {
	all := sha256.New()
	err := eachSDKFile(func(file string, content []byte) error {
		_, err := fmt.Fprintf(all, "%s %x\n", file, sha256.Sum256(content))
		return err
	})
	return hex.EncodeToString(all.Sum(nil)), err
}

// eachSDKFile calls do for each SDK file that contracts are compiled with, in order.
func eachSDKFile(do func(file string, content []byte) error) error {
	sdk := contracts.AssemblyScriptSDK()
	return fs.WalkDir(sdk, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == "testing":
			return fs.SkipDir
		case entry.IsDir() || file == "bin/cairn-test.mjs":
			return nil
		}
		content, err := fs.ReadFile(sdk, file)
		if err != nil {
			return err
		}
		return do(file, content)
	})
}

// toolchain returns the versions that a module depends on besides its source.
func (t scriptTools) toolchain() (map[string]string, error) {
	sdk, err := sdkHash()
	return map[string]string{"asc": t.hash, "sdk": sdk}, err
}

// collect collects the source of the package in a directory: everything below assembly.
func (t scriptTools) collect(_ context.Context, dir string) (contractsource.Source, error) {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return contractsource.Source{}, err
	}
	var described struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(text, &described); err != nil {
		return contractsource.Source{}, fmt.Errorf("package.json: %w", err)
	}
	if err := checkSDK(dir); err != nil {
		return contractsource.Source{}, err
	}
	if _, err := t.find(dir); err != nil {
		return contractsource.Source{}, err
	}
	toolchain, err := t.toolchain()
	if err != nil {
		return contractsource.Source{}, err
	}
	name := described.Name[strings.LastIndexByte(described.Name, '/')+1:]
	s := contractsource.Source{
		Manifest: contractsource.Manifest{Format: contractsource.Format, Language: contractsource.AssemblyScript, Name: name, Toolchain: toolchain},
		Files:    map[string][]byte{},
	}
	return s, addAll(&s, dir, filepath.Join(dir, "assembly"))
}

// above returns a directory and its parents.
func above(dir string) []string {
	list := []string{dir}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		dir = parent
		list = append(list, dir)
	}
	return list
}

// checkSDK checks that the SDK installed in a project is the one that compiles its contract.
func checkSDK(dir string) error {
	for _, d := range above(dir) {
		own := filepath.Join(d, "node_modules", filepath.FromSlash(scriptSDK))
		if !exists(own) {
			continue
		}
		return eachSDKFile(func(file string, content []byte) error {
			if found, err := os.ReadFile(filepath.Join(own, filepath.FromSlash(file))); err != nil ||
				string(found) != string(content) {
				return contractsource.Errorf("%s of the project's %s differs from the version in this program, which "+
					"compiles contracts: others could not verify the module. Use the SDK written by cairn contract "+
					"new, and put your changes into assembly", file, scriptSDK)
			}
			return nil
		})
	}
	return nil // not installed: the missing compiler is reported later
}

// find reads the compiler from the project in a directory, or from the separate installation.
func (t scriptTools) find(dir string) (map[string][]byte, error) {
	cache, err := t.cache()
	if err != nil {
		return nil, err
	}
	other := ""
	for _, d := range append(above(dir), cache) {
		modules := filepath.Join(d, "node_modules")
		files, hash, err := readCompiler(modules)
		if err != nil {
			continue // absent or incomplete
		}
		if hash == t.hash {
			return files, nil
		}
		other = fmt.Sprintf(" (the one in %s is another)", modules)
	}
	install := fmt.Sprintf("npm install --prefix %s --ignore-scripts assemblyscript@%s", cache, scriptVersion)
	if exists(filepath.Join(dir, "package.json")) {
		install = "npm install (in " + dir + ")"
	}
	return nil, missing(
		"the compiler of AssemblyScript, npm's assemblyscript %s, is not installed%s: %s", scriptVersion, other, install,
	)
}

// readCompiler reads the compiler's files, and returns the SHA-256 of their paths and hashes.
func readCompiler(modules string) (map[string][]byte, string, error) {
	files, all := map[string][]byte{}, sha256.New()
	for _, file := range compilerFiles {
		content, err := os.ReadFile(filepath.Join(modules, filepath.FromSlash(file)))
		if err != nil {
			return nil, "", err
		}
		files[file] = content
		fmt.Fprintf(all, "%s %x\n", file, sha256.Sum256(content))
	}
	return files, hex.EncodeToString(all.Sum(nil)), nil
}

// compile compiles the linked module of a source unpacked in dir. It looks for the compiler in o.From and its parents,
// then in the separate installation.
func (t scriptTools) compile(ctx context.Context, dir string, o Options) (made compiled, err error) {
	node, err := findNode(ctx)
	if err != nil {
		return made, err
	}
	compiler, err := t.find(o.From)
	if err != nil {
		return made, err
	}
	modules := contractsource.Source{Files: map[string][]byte{}}
	for file, content := range compiler {
		modules.Files["node_modules/"+file] = content
	}
	err = eachSDKFile(func(file string, content []byte) error {
		modules.Files["node_modules/"+scriptSDK+"/"+file] = content
		return nil
	})
	if err != nil {
		return made, err
	}
	if err := unpack(modules, dir); err != nil {
		return made, err
	}
	run := tool{file: node, env: []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C"}, log: o.Log}
	asc := "node_modules/" + scriptSDK + "/bin/cairn-asc.mjs"
	args := []string{asc, scriptEntry, "--names", "-o", "out.wasm"}
	if o.Invariants {
		args = append(args, "--invariants")
	}
	if o.debug {
		args = append(args, "--sourceMap")
	}
	if _, err := run.run(ctx, dir, args...); err != nil {
		return made, err
	}
	if made.module, err = os.ReadFile(filepath.Join(dir, "out.wasm")); err == nil && o.debug {
		made.sourceMap, err = os.ReadFile(filepath.Join(dir, "out.wasm.map"))
	}
	return made, err
}

// findNode finds Node.js in PATH. Its version does not affect the compiler's output.
func findNode(ctx context.Context) (string, error) {
	install := fmt.Sprintf(
		"Node.js %d or newer is not installed: apt install nodejs npm, or https://nodejs.org", nodeVersion,
	)
	file, err := exec.LookPath("node")
	if err != nil {
		return "", missing("%s", install)
	}
	text, err := tool{file: file, env: os.Environ()}.run(ctx, "/", "--version")
	if err != nil {
		return "", missing("%s (%s)", install, err)
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(text)), "v")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < nodeVersion {
		return "", missing("%s (%s has version %s)", install, file, version)
	}
	return file, nil
}
