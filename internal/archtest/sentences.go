package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
	"unicode"
)

// comments reports the long sentences of a file's comments.
func (m *measure) comments(file *ast.File) {
	for _, group := range file.Comments {
		for _, sentence := range sentences(group.Text(), "\t") {
			if words := countWords(sentence); words > maxSentence {
				m.found(kindComment, m.place(group), beginning(sentence), words)
			}
		}
	}
}

// page reports the long sentences of a Markdown page. Code, tables and headings have none.
func (m *measure) page(name, text string) {
	for _, sentence := range sentences(fence.ReplaceAllString(text, ""), "    ") {
		if words := countWords(sentence); words > maxSentence {
			m.found(kindPage, name, beginning(sentence), words)
		}
	}
}

var (
	item        = regexp.MustCompile(`^\s*(?:[-*] |\d+[.)] |[a-z][.)] )`)
	verbatim    = regexp.MustCompile("`[^`]*`|https?://\\S+")
	target      = regexp.MustCompile(`\]\([^)]*\)`)
	sentenceEnd = regexp.MustCompile(`[.!?][)"”’*]*(?:\s+|$)`)
)

// sentences cuts a text at the ends of sentences, of paragraphs and of items of lists. Lines of tables and headings are
// left out, and lines that begin with the indent of code after an empty one.
func sentences(text, indent string) (all []string) {
	var paragraph []string
	end := func() {
		whole := verbatim.ReplaceAllString(strings.Join(paragraph, " "), "x")
		whole = target.ReplaceAllString(whole, "]")
		paragraph = paragraph[:0]
		for _, part := range splitAfter(whole) {
			all = append(all, strings.TrimSpace(part))
		}
	}
	isCode, wasEmpty := false, true
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		isCode = strings.HasPrefix(line, indent) && (isCode || wasEmpty) && !item.MatchString(line)
		wasEmpty = trimmed == ""
		switch {
		case trimmed == "", isCode, strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "#"):
			end()
		case item.MatchString(line):
			end()
			paragraph = append(paragraph, item.ReplaceAllString(trimmed, ""))
		default:
			paragraph = append(paragraph, trimmed)
		}
	}
	end()
	return all
}

// splitAfter cuts a paragraph after each end of a sentence; an abbreviation ends none.
func splitAfter(paragraph string) (parts []string) {
	begin := 0
	for _, at := range sentenceEnd.FindAllStringIndex(paragraph, -1) {
		if head := paragraph[:at[1]]; !strings.HasSuffix(head, "e.g. ") && !strings.HasSuffix(head, "i.e. ") {
			parts = append(parts, paragraph[begin:at[1]])
			begin = at[1]
		}
	}
	return append(parts, paragraph[begin:])
}

// countWords counts what has a letter or a digit between spaces.
func countWords(sentence string) (n int) {
	for _, word := range strings.Fields(sentence) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// beginning is how a sentence begins, to find it by.
func beginning(sentence string) string {
	words := strings.Fields(sentence)
	return fmt.Sprintf("%q…", strings.Join(words[:min(6, len(words))], " "))
}
