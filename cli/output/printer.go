package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// Printer writes a command's results, notes and failure. It is for one command and not safe for concurrent use.
type Printer struct {
	out, err io.Writer
	json     bool
	log      *slog.Logger // if not nil, receives notes and failures instead of prose

	colourOut, colourErr bool
}

// New returns a printer that writes results to out and everything else to err. With asJSON, results and failures are
// JSON documents: {"ok":true,"result":…} or {"ok":false,"error":{"code":…,"message":…,"data":{…}}}.
func New(out, err io.Writer, asJSON bool) *Printer { return &Printer{out: out, err: err, json: asJSON} }

// Logged makes the printer write JSON log lines to standard error instead of prose, for a command whose log is read by
// a program together with its results.
func (p *Printer) Logged() *Printer {
	p.log = slog.New(slog.NewJSONHandler(p.err, nil))
	return p
}

// Logs reports whether notes are written as log lines.
func (p *Printer) Logs() bool { return p.log != nil }

// JSON reports whether results are written as JSON.
func (p *Printer) JSON() bool { return p.json }

// Result writes a command's result: as JSON, or in the form that people writes. A command with several results calls it
// once for each, and each takes one line of JSON. The JSON must not depend on the mode, so that people get no
// information that programs lack.
func (p *Printer) Result(result any, people func(*Text)) error {
	var buffer bytes.Buffer
	if p.log != nil && !p.json {
		p.log.Info("result", "result", result)
		return nil
	}
	if p.json {
		if err := writeJSON(&buffer, success{OK: true, Result: result}); err != nil {
			return fmt.Errorf("the result: %w", err)
		}
	} else {
		var text strings.Builder
		people(&Text{to: &text})
		shown := visible(text.String())
		if p.colourOut {
			shown = paint(shown)
		}
		buffer.WriteString(shown)
	}
	_, err := p.out.Write(buffer.Bytes())
	return err
}

// Note writes a note for people to standard error.
func (p *Printer) Note(format string, args ...any) {
	if p.log != nil {
		p.log.Info(fmt.Sprintf(format, args...))
		return
	}
	text := visible(fmt.Sprintf(format, args...))
	if p.colourErr {
		text = paintNote(text)
	}
	// If standard error fails, the error cannot be reported anywhere.
	_, _ = fmt.Fprintln(p.err, text)
}

// Fail writes the error of a command, and returns the program's exit code.
func (p *Printer) Fail(err error) int {
	f := failureOf(err)
	if p.log != nil {
		p.log.Error(f.sentence(), "exit", ExitCode(err))
		return ExitCode(err)
	}
	if !p.json {
		p.Note("Error: %s", f.sentence())
		return ExitCode(err)
	}
	if written := writeJSON(p.out, refusal{OK: false, Error: f}); written != nil {
		p.Note("Error: %s (and writing that as JSON failed: %v)", f.sentence(), written)
	}
	return ExitCode(err)
}

type success struct {
	OK     bool `json:"ok"`
	Result any  `json:"result"`
}

type refusal struct {
	OK    bool    `json:"ok"`
	Error failure `json:"error"`
}

// writeJSON writes one document and a newline.
func writeJSON(to io.Writer, document any) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

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
