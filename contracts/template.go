// Package contracts holds the contract SDKs, and creates new projects from them: see [NewProject].
package contracts

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed rust/cairn/Cargo.toml rust/cairn/src rust/.cargo/config.toml rust/examples/counter/src
//go:embed assemblyscript/sdk/package.json assemblyscript/sdk/index.ts assemblyscript/sdk/assembly assemblyscript/sdk/bin
//go:embed assemblyscript/sdk/testing assemblyscript/sdk/transform
//go:embed assemblyscript/examples/counter/assembly assemblyscript/examples/counter/test
var sources embed.FS

// language describes the projects in one language.
type language struct {
	copies map[string]string // from source to project paths: files or whole directories
	files  map[string]string // further files; NAME stands for the project's name
	next   []string          // the commands that test and build it
	module string            // path of the built code
	init   string            // arguments that its deploy needs
}

var languages = map[string]language{
	"rust": {
		copies: map[string]string{
			"rust/cairn": "cairn", "rust/.cargo/config.toml": ".cargo/config.toml", "rust/examples/counter/src": "src",
		},
		files:  map[string]string{"Cargo.toml": rustManifest, ".gitignore": "build/\ntarget/\n"},
		next:   []string{"cairn contract test", "cairn contract build"},
		module: "build/NAME.wasm",
	},
	"assemblyscript": {
		copies: map[string]string{
			"assemblyscript/sdk": "sdk", "assemblyscript/examples/counter/assembly": "assembly",
			"assemblyscript/examples/counter/test": "test",
		},
		files: map[string]string{
			"package.json": packageManifest, ".npmrc": "ignore-scripts=true\n", ".gitignore": "node_modules/\nbuild/\n",
		},
		next:   []string{"npm install", "cairn contract test --init '" + scriptInit + "'", "cairn contract build"},
		module: "build/NAME.wasm",
		init:   scriptInit,
	},
}

// scriptInit holds the init arguments of the counter in AssemblyScript.
const scriptInit = `{"start":0}`

const rustManifest = `[package]
name = "NAME"
version = "0.1.0"
edition = "2021"
publish = false

[lib]
crate-type = ["cdylib"]

[dependencies]
cairn-contract = { path = "cairn" }

# A byte of code costs 1,000 gas at the deploy: size before speed, except in the SDK, which runs at every call.
[profile.release]
opt-level = "z"
lto = true
codegen-units = 1
panic = "abort"
strip = true
# An overflow reverts instead of going around.
overflow-checks = true

# The SDK checks where it matters.
[profile.release.package.cairn-contract]
opt-level = "s"
overflow-checks = false
`

const packageManifest = `{
  "name": "NAME",
  "private": true,
  "type": "module",
  "scripts": {
    "test": "cairn-test"
  },
  "workspaces": ["sdk"],
  "dependencies": { "@cairn-chain/contract": "0.1.0" }
}
`

// Languages returns the languages that [NewProject] supports.
func Languages() []string { return []string{"rust", "assemblyscript"} }

// Project is a new project.
type Project struct {
	Dir    string   `json:"dir"`
	Files  []string `json:"files"`          // below it
	Next   []string `json:"next"`           // commands that test and build it, to run in it
	Module string   `json:"module"`         // path of the built code, below it
	Init   string   `json:"init,omitempty"` // JSON arguments that its deploy needs
}

// AssemblyScriptSDK returns the files of the package @cairn-chain/contract.
func AssemblyScriptSDK() fs.FS {
	sdk, err := fs.Sub(sources, "assemblyscript/sdk")
	if err != nil {
		panic(err) // the path is a constant
	}
	return sdk
}

// projectName matches names that cargo and npm both accept, and for which both use the same file name.
var projectName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// NewProject creates a project with the sources of the SDK, a counter and its test. The directory must not exist; its
// last element is the project's name.
func NewProject(dir, lang string) (Project, error) {
	l, ok := languages[lang]
	if !ok {
		return Project{}, fmt.Errorf("there is no SDK for %q: the languages are %s", lang, strings.Join(Languages(), ", "))
	}
	name := filepath.Base(dir)
	if !projectName.MatchString(name) {
		return Project{}, fmt.Errorf("bad name %q: it has lower-case letters, digits and _, and begins with a letter", name)
	}
	files, err := l.contents(name)
	if err != nil {
		return Project{}, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return Project{}, err
	}
	p := Project{Dir: dir, Next: l.next, Module: strings.ReplaceAll(l.module, "NAME", name), Init: l.init}
	for file, content := range files {
		p.Files = append(p.Files, file)
		target := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return p, err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return p, err
		}
	}
	slices.Sort(p.Files)
	return p, nil
}

// contents returns the files of a project by their paths in it.
func (l language) contents(name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for file, text := range l.files {
		files[file] = []byte(strings.ReplaceAll(text, "NAME", name))
	}
	for from, to := range l.copies {
		err := fs.WalkDir(sources, from, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := sources.ReadFile(file)
			files[path.Join(to, strings.TrimPrefix(file, from))] = content
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
