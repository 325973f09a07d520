package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// stoppedAt is a line of a contract's own sources that a call was in when it failed.
type stoppedAt struct {
	File string `json:"file"` // in the archive of the source
	Line int    `json:"line"`
	Near bool   `json:"near"` // behind it in the same function; the compiler does not say more
	Text string `json:"text"` // of the line
}

// stopped compiles a contract again with debug information, and says where its own sources stood when its call failed,
// the innermost function first. It gives nothing of a module without a source, or if another's call failed only.
func (g givenModule) stopped(
	ctx context.Context, o contractbuild.Options, stops []contracttest.Stop,
) (list []stoppedAt, err error) {
	var places []contracttest.Place
	for _, s := range stops {
		if s.Code == types.CodeHash(sha256.Sum256(g.module)) {
			places = s.Places
			break
		}
	}
	if g.source == nil || len(places) == 0 {
		return nil, nil
	}
	lines, err := contractbuild.Map(ctx, *g.source, o, g.module)
	if err != nil {
		return nil, err
	}
	return linesAt(*g.source, lines, places), nil
}

// linesAt says where a contract's own sources stood, the innermost function first.
func linesAt(
	source contractsource.Source, lines *contractbuild.SourceMap, places []contracttest.Place,
) (list []stoppedAt) {
	add := func(at contractbuild.Position, near bool) {
		if contractbuild.IsOwn(source, at) && at.Line > 0 { // the compiler gives 0 to what it made itself
			list = append(list, stoppedAt{at.File, at.Line, near, lineOf(source.Files[at.File], at.Line)})
		}
	}
	for _, p := range places {
		for _, at := range lines.At(p.Function, p.At) {
			add(at, false)
		}
	}
	for i := 0; i < len(places) && len(list) == 0; i++ {
		add(lines.Before(places[i].Function, places[i].At, func(at contractbuild.Position) bool { return contractbuild.IsOwn(source, at) }), true)
	}
	return list
}

// lineOf is a line of a text, from 1 on, without the space around it; empty if there is none.
func lineOf(text []byte, line int) string {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	return string(bytes.TrimSpace(lines[line-1]))
}

// stoppedText lists where a call stopped, a line each.
func stoppedText(list []stoppedAt) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "\n  %s", s)
	}
	return b.String()
}

// String is the line for people. Its text may be a stranger's.
func (s stoppedAt) String() string {
	near := ""
	if s.Near {
		near = "near "
	}
	return fmt.Sprintf("%s%s:%d  %s", near, s.File, s.Line, oneLine(s.Text))
}
