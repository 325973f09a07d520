package archtest

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSourcesFollowTheTable(t *testing.T) {
	tree := os.DirFS("../..")
	problems, err := Check(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func TestEveryAllowanceIsNeeded(t *testing.T) {
	stale, err := CheckAllowances(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stale {
		t.Error(s)
	}
	// In a tree with one file, every allowance of its package is stale except for the file's imports.
	stale, err = CheckAllowances(fstest.MapFS{"crypto/x.go": {Data: []byte("package crypto")}})
	if err != nil || !slices.Contains(stale, "rows: nobody needs that crypto allows crypto/bip340") {
		t.Errorf("got %q, %v", stale, err)
	}
	used := fstest.MapFS{"crypto/x.go": {Data: []byte("package crypto\nimport _ \"" + module + "/crypto/bip340\"")}}
	stale, err = CheckAllowances(used)
	if err != nil ||
		slices.ContainsFunc(stale, func(s string) bool { return strings.HasPrefix(s, "rows: nobody needs that crypto ") }) {
		t.Errorf("got %q, %v", stale, err)
	}
}

func TestPlantedViolationsAreFound(t *testing.T) {
	for _, tc := range []struct{ name, file, source, want string }{
		{"an import that points upwards", "internal/protocol/exec/x.go",
			"package exec\nimport _ \"" + module + "/internal/storage/chain\"", "may not import internal/storage/chain"},
		{"in a test too", "internal/protocol/exec/x_test.go",
			"package exec\nimport _ \"" + module + "/internal/engine/ledger\"", "may not import internal/engine/ledger"},
		{"the client sees nothing internal", "client/x.go",
			"package client\nimport _ \"" + module + "/internal/node\"", "may not import internal/node"},
		{"an unknown package", "internal/surprise/x.go", "package surprise", "has no row"},
		{"a name that says nothing", "internal/utils/x.go", "package utils", "says nothing"},
		{"a clock in a verifier", "internal/proof/merkle/x.go", "package merkle\nimport _ \"time\"", "may not import time"},
		{"a goroutine in a verifier", "crypto/bip340/x.go", "package bip340\nfunc f() { go f() }", "no goroutine"},
		{"a clock in the protocol", "internal/protocol/fees/x.go", "package fees\nimport _ \"time\"", "may not import time"},
		{
			"randomness in the protocol", "types/x.go", "package types\nimport _ \"math/rand/v2\"",
			"may not import math/rand/v2",
		},
		{"the network in the protocol", "codec/x.go", "package codec\nimport _ \"net/http\"", "may not import net/http"},
		{
			"the wire in the engine", "internal/engine/replica/x.go", "package replica\nimport _ \"" + module + "/client\"",
			"is part of the engine",
		},
		{
			"HTTP in the engine", "internal/engine/ledger/x_test.go", "package ledger\nimport _ \"net/http/httptest\"",
			"is part of the engine",
		},
		{
			"the kit in the node", "internal/node/x.go", "package node\nimport _ \"" + module + "/kit/sender\"",
			"is of another house",
		},
		{
			"the workshop in the kit", "kit/sender/x.go", "package sender\nimport _ \"" + module + "/workshop/internal/program\"",
			"is of another house",
		},
		{"a goroutine in the protocol", "internal/protocol/tree/x.go", "package tree\nfunc f() { go f() }", "no goroutine"},
		{"a float in the protocol", "internal/protocol/fees/x.go", "package fees\nvar f float64", "no floats"},
		{"a float literal in the protocol", "internal/protocol/fees/x.go", "package fees\nvar f = 0.5", "no floats"},
		{
			"transactions without signatures", "internal/node/x.go", "package node\nvar f = exec.Rehearse",
			"may not use internal/protocol/exec.Rehearse",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			problems, err := Check(fstest.MapFS{tc.file: {Data: []byte(tc.source)}})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, tc.want) }) {
				t.Errorf("got %q, want one with %q", problems, tc.want)
			}
		})
	}
}

func TestOneImporterEach(t *testing.T) {
	source := func(pkg string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package " + path.Base(pkg) + "\nimport _ \"example.org/dependency\"")}
	}
	problems, err := Check(fstest.MapFS{"codec/x.go": source("codec"), "types/x.go": source("types")})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "one package each") {
		t.Errorf("got %q, %v, want 1 problem and %q", problems, err, "one package each")
	}
}

func TestEveryRowIsAPackage(t *testing.T) {
	for pkg := range rows {
		entries, err := os.ReadDir(path.Join("../..", pkg))
		if err != nil ||
			!slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".go") }) {
			t.Errorf("row %s: no package there (%v)", pkg, err)
		}
	}
}

// TestVerifierIsOfVerifyingOnly follows the imports of the public package proof. A program that only verifies contains
// no code of the node, of storage or of the prover, none that signs, and none that does I/O.
func TestVerifierIsOfVerifyingOnly(t *testing.T) {
	refused := []string{"internal/engine/...", "internal/node/...", "internal/server/...", "internal/storage/...",
		"cli/...",
		"internal/config", "internal/proof/prover", "client/...", "crypto", "crypto/foreign", "wallet", "api", "jsonrpc",
		"net", "net/...", "os/exec", "log/...", "database/..."}
	seen := map[string]bool{}
	var follow func(pkg string)
	follow = func(pkg string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		files, err := filepath.Glob(filepath.Join("../..", pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no sources (%v)", pkg, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				imported, isOwn := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
				if matches(refused, imported) {
					t.Errorf("%s imports %s", name, imported)
				}
				if isOwn {
					follow(imported)
				}
			}
		}
	}
	follow("proof")
	if !seen["internal/proof/verifier"] {
		t.Errorf("the imports lead to %v alone", seen)
	}
}
