package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxColumns is the length of a line, in characters; a tab is one.
	maxColumns = 120
	// closing is how many characters may close what a raw string at the end of a line is in.
	closing = 4
)

// checkLines reports the lines of a file that are too long. A raw string may be as long as it has to be, and so may
// what a tool reads or has written: a directive, a generated file.
func checkLines(name string, source []byte, file *ast.File, report func(token.Pos, string, ...any)) {
	if ast.IsGenerated(file) {
		return
	}
	var texts []*ast.BasicLit // raw strings
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && text.Value[0] == '`' {
			texts = append(texts, text)
		}
		return true
	})
	begin := file.FileStart
	for line := range strings.Lines(string(source)) {
		shown := strings.TrimRight(line, "\n")
		from, to := begin, begin+token.Pos(len(shown))
		begin += token.Pos(len(line))
		if utf8.RuneCountInString(shown) <= maxColumns || strings.HasPrefix(line, "//go:") {
			continue
		}
		if slices.ContainsFunc(texts, func(text *ast.BasicLit) bool {
			return text.Pos() < to && text.End() >= from && text.End()+closing >= to
		}) {
			continue
		}
		report(to, "a line has at most %d characters", maxColumns)
	}
}
