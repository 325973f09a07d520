package output

import "regexp"

// Terminal control sequences (ECMA-48, SGR).
const (
	plain  = "\x1b[0m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
)

// outcomes matches the words for a transaction's outcome: after the field Status, or after the block in a list.
var outcomes = regexp.MustCompile(`(?m)^((?:Status|pending| *\d+)  +)(success|failed|pending)( |$)`)

// marks matches the beginnings of error and warning lines.
var marks = regexp.MustCompile(`^(?:Error|Warning):`)

// Colour enables colours in results and in notes.
func (p *Printer) Colour(results, notes bool) *Printer {
	p.colourOut, p.colourErr = results && !p.json, notes
	return p
}

// paint colours the outcomes in a result.
func paint(text string) string {
	return outcomes.ReplaceAllStringFunc(text, func(found string) string {
		parts := outcomes.FindStringSubmatch(found)
		colour := map[string]string{"success": green, "failed": red, "pending": yellow}[parts[2]]
		return parts[1] + colour + parts[2] + plain + parts[3]
	})
}

// paintNote colours the first word of a note.
func paintNote(text string) string {
	return marks.ReplaceAllStringFunc(text, func(mark string) string {
		if mark == "Error:" {
			return red + mark + plain
		}
		return yellow + mark + plain
	})
}
