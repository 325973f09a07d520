package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Printer writes a command's result, notes and failure. It is for one command and one goroutine.
type Printer struct {
	out, err io.Writer
	json     bool
	log      *slog.Logger // what is not nil is written to instead of prose

	colourOut, colourErr bool
}

// New returns a printer that writes results to out and everything else to err. With asJSON results and failures are
// each one JSON document: {"ok":true,"result":…} or {"ok":false,"error":{"code":…,"message":…,"data":{…}}}.
func New(out, err io.Writer, asJSON bool) *Printer { return &Printer{out: out, err: err, json: asJSON} }

// Logged has the printer write lines of a log in JSON to the standard error instead of prose: for a command whose log is
// read by a program, as one journal with its results.
func (p *Printer) Logged() *Printer {
	p.log = slog.New(slog.NewJSONHandler(p.err, nil))
	return p
}

// Logs reports whether prose is written as lines of a log.
func (p *Printer) Logs() bool { return p.log != nil }

// JSON reports whether results are written as JSON.
func (p *Printer) JSON() bool { return p.json }

// Result writes a command's result, once, or each of a command that goes on, on a line: result as JSON for programs, or
// what people writes. The JSON of a result must not depend on who reads it, so that people sees nothing that programs
// do not.
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

// Note writes a line of prose for people to the standard error.
func (p *Printer) Note(format string, args ...any) {
	if p.log != nil {
		p.log.Info(fmt.Sprintf(format, args...))
		return
	}
	text := visible(fmt.Sprintf(format, args...))
	if p.colourErr {
		text = paintNote(text)
	}
	// A standard error that cannot be written to leaves nobody to tell.
	_, _ = fmt.Fprintln(p.err, text)
}

// Fail writes the error that a command ended with, and returns the program's exit code.
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
