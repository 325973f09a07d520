package rpc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// The handler of a method is in the file with the same name as the one in package api that declares the method.
func TestHandlersAreWhereTheirDeclarationsAre(t *testing.T) {
	declared, handled := sources(t, "../../../api"), sources(t, ".")
	bind := regexp.MustCompile(`\b(?:bind|bindGroup)\(e, api\.(\w+), h\.(\w+)\)`)
	bound := 0
	for file, text := range handled {
		for _, names := range bind.FindAllStringSubmatch(text, -1) {
			bound++
			declaration := fileOf(declared, regexp.MustCompile(`(?m)^(?:\t|var )`+names[1]+` += define\[`))
			handler := fileOf(handled, regexp.MustCompile(`(?m)^func \(h \*?\w+\) `+names[2]+`\(`))
			if declaration != file || handler != file {
				t.Errorf("%s is declared in %q, bound in %q, and handled in %q", names[1], declaration, file, handler)
			}
		}
	}
	if bound != len(api.Declarations()) {
		t.Errorf("%d methods are bound, %d declared", bound, len(api.Declarations()))
	}
}

// sources returns the texts of a package's non-test files, by their names.
func sources(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := must(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	texts := make(map[string]string, len(files))
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			texts[filepath.Base(file)] = string(must(os.ReadFile(file))(t))
		}
	}
	return texts
}

// fileOf returns the name of the file whose text matches.
func fileOf(texts map[string]string, pattern *regexp.Regexp) string {
	for name, text := range texts {
		if pattern.MatchString(text) {
			return name
		}
	}
	return ""
}
