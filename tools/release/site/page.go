package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is a page of the site.
type page struct {
	name     string // path in the repository
	title    string
	body     string // HTML
	contents []heading
	parts    []part
}

// heading is a section in the page's list of contents.
type heading struct{ Title, ID string }

// part is the text below a heading, for the search index.
type part struct {
	title, id string
	words     map[string]bool
}

// markdown aligns cells by attributes: the site's policy forbids inline styles.
var markdown = goldmark.New(goldmark.WithExtensions(
	extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough,
))

var comment = regexp.MustCompile(`(?s)^<!--.*?-->\n`)

// convert renders a page of Markdown, and lists the files of the repository that it links to. A broken link is an
// error.
func (s *site) convert(name string, content []byte) (*page, []string, error) {
	content = comment.ReplaceAll(content, nil)
	p := &page{name: name, title: name}
	document := markdown.Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext()))
	var linked []string
	taken := map[string]bool{}
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch n := n.(type) {
		case *ast.RawHTML, *ast.HTMLBlock: // it would be dropped
			err = errors.New("HTML in a page: write \\< for a mere <")
		case *ast.Heading:
			p.heading(n, content, taken)
		case *ast.Link:
			n.Destination, err = s.link(name, n.Destination, &linked)
		case *ast.Image:
			n.Destination, err = s.link(name, n.Destination, &linked)
		case *ast.Text:
			p.say(n.Value(content))
		case *ast.FencedCodeBlock:
			p.say(n.Lines().Value(content))
		case *ast.CodeBlock:
			p.say(n.Lines().Value(content))
		}
		return ast.WalkContinue, err
	})
	if err != nil {
		return nil, nil, err
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, content, document); err != nil {
		return nil, nil, err
	}
	p.body = strings.NewReplacer("<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(body.String())
	return p, linked, nil
}

// heading begins a section, with the anchor that GitHub gives it.
func (p *page) heading(n *ast.Heading, content []byte, taken map[string]bool) {
	title := plain(n, content)
	id := anchor(title)
	for number := 1; taken[id]; number++ {
		id = fmt.Sprintf("%s-%d", anchor(title), number)
	}
	taken[id] = true
	n.SetAttributeString("id", []byte(id))
	if len(p.parts) == 0 {
		p.title = title
	} else if n.Level <= 2 {
		p.contents = append(p.contents, heading{title, id})
	}
	p.parts = append(p.parts, part{title, id, map[string]bool{}})
}

// plain returns a node's text.
func plain(n ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // nothing in it fails
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(content))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchor returns GitHub's anchor of a heading, which the repository's links use.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

var word = regexp.MustCompile(`[\pL\pN][\pL\pN_]+`)

// maxWord excludes longer words, such as hashes and encodings, from the search index.
const maxWord = 40

// say adds text to the current section.
func (p *page) say(said []byte) {
	if len(p.parts) == 0 {
		return
	}
	for _, w := range word.FindAll(said, -1) {
		if len(w) <= maxWord {
			p.parts[len(p.parts)-1].words[strings.ToLower(string(w))] = true
		}
	}
}

// link returns the destination of a link on the site. It adds files of the repository to linked.
func (s *site) link(from string, destination []byte, linked *[]string) ([]byte, error) {
	target, section, found := strings.Cut(string(destination), "#")
	if target == "" || strings.Contains(target, ":") {
		return destination, nil
	}
	to, err := s.resolve(from, target)
	if err != nil {
		return nil, err
	}
	if to == "" { // a directory: the site does not have it
		return []byte("#"), nil
	}
	*linked = append(*linked, to)
	result := relative(from, to)
	if found {
		result += "#" + section
	}
	return []byte(result), nil
}

// index returns the script with the search index: each section's title, page, address and words.
func (s *site) index() ([]byte, error) {
	entries := [][4]string{}
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[name]
		for i, part := range p.parts {
			at := address(name)
			if i > 0 {
				at += "#" + part.id
			}
			words := strings.Join(slices.Sorted(maps.Keys(part.words)), " ")
			entries = append(entries, [4]string{part.title, p.title, at, words})
		}
	}
	text, err := json.Marshal(entries)
	return append(append([]byte("globalThis.searchIndex="), text...), ";\n"...), err
}
