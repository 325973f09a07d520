package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// made is the site of the repository.
func made(t *testing.T) fs.FS {
	t.Helper()
	out := t.TempDir()
	if _, err := build(os.DirFS("../../.."), out); err != nil {
		t.Fatal(err)
	}
	return os.DirFS(out)
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	identity  = regexp.MustCompile(` id="([^"]*)"`)
)

// Every link leads to a file of the site and to a section of it, and pages load nothing from elsewhere.
func TestLinks(t *testing.T) {
	site := made(t)
	ids := map[string]bool{}
	type link struct{ from, to string }
	var links []link
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		content, err := fs.ReadFile(site, name)
		if err != nil {
			return err
		}
		for _, found := range identity.FindAllSubmatch(content, -1) {
			ids[name+"#"+string(found[1])] = true
		}
		for _, found := range reference.FindAllSubmatch(content, -1) {
			links = append(links, link{name, string(found[1])})
		}
		if strings.Contains(string(content), `src="http`) || strings.Contains(string(content), " style=") {
			t.Errorf("%s loads something from elsewhere, or has a style of its own, which its policy refuses", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(links) < 1000 {
		t.Fatalf("the site has %d links", len(links))
	}
	for _, l := range links {
		file, section, found := strings.Cut(l.to, "#")
		if strings.Contains(file, ":") || l.to == "#" {
			continue
		}
		to := l.from
		if file != "" {
			to = path.Join(path.Dir(l.from), file)
		}
		if _, err := fs.Stat(site, to); err != nil {
			t.Errorf("%s: there is no %s", l.from, l.to)
		} else if found && !ids[to+"#"+section] {
			t.Errorf("%s: %s has no section for %s", l.from, to, l.to)
		}
	}
}

// The search finds every section by words in it.
func TestSearchIndex(t *testing.T) {
	script, err := fs.ReadFile(made(t), "search.js")
	if err != nil {
		t.Fatal(err)
	}
	var entries [][4]string
	text := strings.TrimSuffix(strings.TrimPrefix(string(script), "globalThis.searchIndex="), ";\n")
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"docs/methods.html#svc_getbalance": "svc_getbalance", "docs/tutorials/chain.html#let-it-run": "node",
		"index.html": "",
	}
	for _, entry := range entries {
		if has, ok := want[entry[2]]; ok && strings.Contains(" "+entry[3], has) {
			delete(want, entry[2])
		}
	}
	if len(want) > 0 || len(entries) < 400 {
		t.Errorf("%d sections, without %v", len(entries), want)
	}
}

func TestRefusals(t *testing.T) {
	if _, err := build(fstest.MapFS{}, t.TempDir()); err == nil {
		t.Error("a repository without pages has a site")
	}
	for name, text := range map[string]string{
		"HTML": "# T\n\nVec<u8>\n", "a script": "# T\n\n<script>x</script>\n", "a dead link": "# T\n\n[x](nowhere.md)\n",
	} {
		s := &site{tree: fstest.MapFS{}, pages: map[string]*page{}}
		if _, _, err := s.convert("README.md", []byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	s := &site{tree: fstest.MapFS{}, pages: map[string]*page{}}
	p, _, err := s.convert("x.md", []byte("# A `b` c\n\n## Same\n\n## Same\n\n| a |\n|---|\n| `<b>` |\n"))
	if err != nil || p.title != "A b c" || len(p.contents) != 2 || p.contents[1].ID != "same-1" ||
		!strings.Contains(p.body, "&lt;b&gt;") {
		t.Errorf("%+v, %v", p, err)
	}
}
