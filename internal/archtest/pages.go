package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// CheckPages follows every link of a source tree's Markdown pages, and every page that a comment of a Go file names. A
// section is followed too if one is named in quotation marks after the page. It lists those that lead nowhere.
func CheckPages(tree fs.FS) ([]string, error) {
	c := pageCheck{tree: tree, pages: map[string]*page{}}
	err := walk(tree, func(name string) error {
		switch path.Ext(name) {
		case ".md":
			return c.checkPage(name)
		case ".go":
			return c.checkComments(name)
		}
		return nil
	})
	return c.problems, err
}

type pageCheck struct {
	tree     fs.FS
	pages    map[string]*page // by their path
	problems []string
}

// page is what others may refer to in a Markdown page.
type page struct {
	text     string          // without code
	anchors  map[string]bool // as GitHub makes them of headings
	sections map[string]bool // headings, and what a line or a cell of a table begins with in bold
}

var (
	fence   = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	bold    = regexp.MustCompile(`(?m)(?:^|[|] |- )\*\*([^*]+?)[.:?]?\*\*`)
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	mention = regexp.MustCompile(`((?:docs|workshop)/[\w./-]*\w\.md|\b[A-Z]{4,}\.md)(?:, "([^"]+)")?`)
)

// page reads a page, nil if there is none at that path.
func (c *pageCheck) page(name string) (*page, error) {
	if p, known := c.pages[name]; known {
		return p, nil
	}
	content, err := fs.ReadFile(c.tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text := fence.ReplaceAllString(string(content), "")
	p := &page{text: code.ReplaceAllString(text, ""), anchors: map[string]bool{}, sections: map[string]bool{}}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		anchor := anchorOf(h[1])
		for number := 1; p.anchors[anchor]; number++ {
			anchor = fmt.Sprintf("%s-%d", anchorOf(h[1]), number)
		}
		p.anchors[anchor] = true
		p.sections[strings.ReplaceAll(h[1], "`", "")] = true
	}
	for _, b := range bold.FindAllStringSubmatch(text, -1) {
		p.sections[strings.ReplaceAll(b[1], "`", "")] = true
	}
	c.pages[name] = p
	return p, nil
}

// anchorOf is the anchor that GitHub gives a heading.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (c *pageCheck) checkPage(name string) error {
	p, err := c.page(name)
	if err != nil {
		return err
	}
	for _, found := range link.FindAllStringSubmatch(p.text, -1) {
		target, anchor, _ := strings.Cut(found[1], "#")
		if strings.Contains(target, ":") {
			continue // elsewhere
		}
		to := name
		if target != "" {
			to = path.Join(path.Dir(name), target)
		}
		if _, err := fs.Stat(c.tree, to); err != nil {
			c.problems = append(c.problems, fmt.Sprintf("%s: there is no %s", name, found[1]))
			continue
		}
		if anchor == "" || path.Ext(to) != ".md" {
			continue
		}
		at, err := c.page(to)
		if err != nil {
			return err
		}
		if !at.anchors[anchor] {
			c.problems = append(c.problems, fmt.Sprintf("%s: %s has no section for %s", name, to, found[1]))
		}
	}
	return nil
}

func (c *pageCheck) checkComments(name string) error {
	source, err := fs.ReadFile(c.tree, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, comment := range file.Comments {
		if err := c.checkComment(name, comment); err != nil {
			return err
		}
	}
	return nil
}

func (c *pageCheck) checkComment(name string, comment *ast.CommentGroup) error {
	text := strings.Join(strings.Fields(comment.Text()), " ")
	for _, found := range mention.FindAllStringSubmatch(text, -1) {
		p, err := c.page(found[1])
		switch {
		case err != nil:
			return err
		case p == nil:
			c.problems = append(c.problems, fmt.Sprintf("%s: a comment names %s, which is not there", name, found[1]))
		case found[2] != "" && !p.sections[found[2]]:
			c.problems = append(c.problems, fmt.Sprintf(
				"%s: a comment names a section %q, which %s has not", name, found[2], found[1],
			))
		}
	}
	return nil
}
