package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named matches the path of a file or directory of the repository, as pages name them: in a command, in code or a link.
var named = regexp.MustCompile(
	"(?:^|[\\s`(\\[=\"])(?:\\./|\\.\\./)*((?:deploy|contracts|scripts|sdk|web|tools|internal)/[A-Za-z0-9_./-]+|workshop\\b[A-Za-z0-9_./-]*)",
)

var comments = regexp.MustCompile(`<!--.*?-->`)

// stray reports wrong paths in a page: those that do not exist in the repository, and those that are not released
// unless the page says that it is about a clone.
func stray(source fs.FS, released []string, page string) (problems []string) {
	page = comments.ReplaceAllString(page, "")
	clone := strings.Contains(strings.ReplaceAll(page, "\n", " "), "clone of")
	for _, found := range named.FindAllStringSubmatch(page, -1) {
		name := strings.TrimRight(found[1], "./-")
		inRelease := slices.ContainsFunc(released, func(file string) bool {
			return file == name || strings.HasPrefix(file, name+"/") || strings.HasPrefix(file, found[1])
		})
		_, err := fs.Stat(source, name)
		matches, _ := fs.Glob(source, found[1]+"*")
		switch {
		case err != nil && len(matches) == 0:
			problems = append(problems, name+" is not in the repository")
		case !inRelease && strings.HasPrefix(name, "deploy/"):
			problems = append(problems, name+" is not released")
		case !inRelease && !clone:
			problems = append(problems, name+" is not released, and the page does not say that it is of a clone")
		}
	}
	return problems
}

func TestPagesNameWhatIsReleased(t *testing.T) {
	source := os.DirFS("../..")
	released, err := shipped(source)
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/tutorials/*.md"} {
		found, err := fs.Glob(source, pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, name := range pages {
		content, err := fs.ReadFile(source, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range stray(source, released, string(content)) {
			t.Errorf("%s: %s", name, problem)
		}
	}
	if len(pages) < 15 {
		t.Errorf("got %d pages, want 15 at least", len(pages))
	}
	for text, want := range map[string]int{
		"`deploy/haproxy.cfg`": 0, "`deploy/deploy_test.go`": 1, "sh deploy/nothing.sh": 1, "go -C workshop run ./soak": 1,
		"in a clone of the repository go -C workshop run ./soak": 0, "cairn deploy contracts/wasm/counter.wasm": 0,
	} {
		if got := stray(source, released, text); len(got) != want {
			t.Errorf("%q: got %q, want %d problems", text, got, want)
		}
	}
}

// Each file has its own place in a package, and systemd's files are where systemd looks for them.
func TestPlaces(t *testing.T) {
	for name, want := range map[string]string{
		"deploy/cairn.service":        "/usr/lib/systemd/system/cairn.service",
		"deploy/cairn-signer.service": "/usr/lib/systemd/system/cairn-signer.service",
		"deploy/haproxy.cfg":          "/usr/share/doc/cairn/deploy/haproxy.cfg",
		"contracts/wasm/nep20.wasm":   "/usr/share/doc/cairn/contracts/wasm/nep20.wasm",
		"README.md":                   "/usr/share/doc/cairn/README.md",
	} {
		if got := place(file{name: name}, "deb"); got != want {
			t.Errorf("%s: got %s, want %s", path.Base(name), got, want)
		}
	}
}
