package output

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Text is a result in the form for people. It is built in memory, so writing to it cannot fail.
type Text struct {
	to io.Writer
}

// visible escapes the characters that a terminal would interpret, except line feeds and tabs, as contracts and nodes
// control much of the output. Bidirectional controls (Unicode property Bidi_Control) would reorder the text around
// them.
func visible(text string) string {
	obeyed := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) ||
			r == unicode.ReplacementChar
	}
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // invalid UTF-8 decodes as U+FFFD
		if obeyed(r) && r != unicode.ReplacementChar {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Line writes a line.
func (t *Text) Line(format string, args ...any) { _, _ = fmt.Fprintf(t.to, format+"\n", args...) }

// Raw writes a text without a line feed behind it, for what is copied or piped to the byte.
func (t *Text) Raw(text string) { _, _ = io.WriteString(t.to, text) }

// Field is a line of [Text.Fields].
type Field struct {
	Name  string
	Value any
}

// Fields writes names and values in two columns.
func (t *Text) Fields(fields ...Field) {
	w := plainTable()
	for _, f := range fields {
		w.AppendRow(row([]any{f.Name, f.Value}))
	}
	t.Line("%s", w.Render())
}

// Table writes rows in columns with headings.
func (t *Text) Table(columns []string, rows [][]any) {
	w := plainTable()
	w.AppendHeader(row(columns))
	for _, r := range rows {
		w.AppendRow(row(r))
	}
	t.Line("%s", w.Render())
}

// plainTable returns a table without lines, with two spaces between columns and no margins.
func plainTable() table.Writer {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "  "
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	return w
}

// row escapes the texts of cells. The table would otherwise interpret a carriage return, and show only the text after
// it.
func row[T any](cells []T) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		switch c := any(c).(type) {
		case string:
			r[i] = visible(c)
		case fmt.Stringer:
			r[i] = visible(c.String())
		default:
			r[i] = c
		}
	}
	return r
}
