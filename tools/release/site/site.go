package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// start is the page from which all others are reached.
const start = "README.md"

// sections are the parts of the navigation, with their pages in order. Other pages are reached by links and by the
// search.
var sections = []struct {
	Title string
	Pages []string
}{
	{"Start", []string{start}},
	{"Tutorials", []string{
		"docs/tutorials/chain.md", "docs/tutorials/go.md", "docs/tutorials/typescript.md", "docs/tutorials/contract.md",
		"docs/tutorials/verify.md",
	}},
	{"Build", []string{"docs/applications.md", "docs/methods.md", "sdk/typescript/README.md", "docs/contracts.md",
		"docs/explorer.md"}},
	{"Run", []string{"docs/operators.md", "docs/cluster.md", "docs/settings.md", "docs/releases.md", "CHANGELOG.md"}},
	{"Verify", []string{"docs/verifiers.md", "docs/proofs.md", "docs/protocol.md", "docs/attacks.md"}},
	{"Change it", []string{"ARCHITECTURE.md", "RATIONALE.md", "CONTRIBUTING.md"}},
}

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// site is a site being built.
type site struct {
	tree  fs.FS
	out   string
	pages map[string]*page // by their path in the repository
	files []string         // other files that pages show or link to
}

// build builds the site of a repository in a directory, and returns its number of pages.
func build(tree fs.FS, out string) (int, error) {
	s := &site{tree: tree, out: out, pages: map[string]*page{}}
	if err := s.read(); err != nil {
		return 0, err
	}
	if err := os.RemoveAll(out); err != nil {
		return 0, err
	}
	for _, p := range s.pages {
		if err := s.writePage(p); err != nil {
			return 0, err
		}
	}
	for _, name := range s.files {
		content, err := fs.ReadFile(tree, name)
		if err == nil {
			err = s.write(name, content)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(s.pages), s.writeAssets()
}

// read reads the reachable pages.
func (s *site) read() error {
	queue := []string{start}
	for _, section := range sections {
		queue = append(queue, section.Pages...)
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if s.pages[name] != nil {
			continue
		}
		content, err := fs.ReadFile(s.tree, name)
		if err != nil {
			return err
		}
		p, linked, err := s.convert(name, content)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.pages[name] = p
		for _, to := range linked {
			if path.Ext(to) == ".md" {
				queue = append(queue, to)
			} else if !slices.Contains(s.files, to) {
				s.files = append(s.files, to)
			}
		}
	}
	return nil
}

// resolve returns the file that a link of a page leads to. For a directory it is the README.md, or empty if there is
// none.
func (s *site) resolve(from, link string) (string, error) {
	to := path.Join(path.Dir(from), link)
	info, err := fs.Stat(s.tree, to)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return to, nil
	}
	readme := path.Join(to, "README.md")
	if _, err := fs.Stat(s.tree, readme); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return readme, nil
}

// address returns the site's address of a file of the repository.
func address(name string) string {
	if name == start {
		return "index.html"
	}
	if base, ok := strings.CutSuffix(name, ".md"); ok {
		return base + ".html"
	}
	return name
}

// relative returns the address of a file relative to a page.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(address(from), "/")) + address(to)
}

type navLink struct {
	Title, Address string
	Current        bool
}

type navSection struct {
	Title string
	Links []navLink
}

func (s *site) writePage(p *page) error {
	nav := make([]navSection, len(sections))
	for i, section := range sections {
		nav[i].Title = section.Title
		for _, name := range section.Pages {
			nav[i].Links = append(nav[i].Links, navLink{s.pages[name].title, relative(p.name, name), name == p.name})
		}
	}
	var text bytes.Buffer
	err := layout.Execute(&text, map[string]any{
		"Title": p.title, "Root": strings.Repeat("../", strings.Count(address(p.name), "/")), "Nav": nav,
		"Contents": p.contents, "Body": template.HTML(p.body), // of goldmark, which lets no HTML through
	})
	if err != nil {
		return err
	}
	return s.write(address(p.name), text.Bytes())
}

func (s *site) writeAssets() error {
	for _, name := range []string{"site.css", "site.js"} {
		content, err := assets.ReadFile("assets/" + name)
		if err == nil {
			err = s.write(name, content)
		}
		if err != nil {
			return err
		}
	}
	index, err := s.index()
	if err != nil {
		return err
	}
	return s.write("search.js", index)
}

func (s *site) write(name string, content []byte) error {
	file := filepath.Join(s.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
