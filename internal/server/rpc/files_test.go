package rpc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// The handler of a method is in the file of the name of that which declares the method in package api.
func TestHandlersAreWhereTheirDeclarationsAre(t *testing.T) {
	declared, handled := sources(t, "../../../api"), sources(t, ".")
	bound := regexp.MustCompile(`\b(?:bind|bindGroup)\(s, api\.(\w+), s\.(\w+)\)`).FindAllStringSubmatch(handled["server.go"], -1)
	if len(bound) != len(api.Declarations()) {
		t.Errorf("%d methods are bound, %d declared", len(bound), len(api.Declarations()))
	}
	for _, names := range bound {
		declaration := fileOf(declared, regexp.MustCompile(`(?m)^(?:\t|var )`+names[1]+` += define\[`))
		handler := fileOf(handled, regexp.MustCompile(`(?m)^func \(s \*Server\) `+names[2]+`\(`))
		if declaration == "" || declaration != handler {
			t.Errorf("%s is declared in %q, and handled in %q", names[1], declaration, handler)
		}
	}
}

// sources are the texts of a package's files that are no tests, by their names.
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

// fileOf is the name of the file whose text matches.
func fileOf(texts map[string]string, pattern *regexp.Regexp) string {
	for name, text := range texts {
		if pattern.MatchString(text) {
			return name
		}
	}
	return ""
}
