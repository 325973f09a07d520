package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// tracedSource is a source given for the lines of a trace.
type tracedSource struct {
	Source    string             `json:"source"`            // as given
	Contracts []types.ContractID `json:"contracts"`         // contracts of failed calls that have its code
	Problem   string             `json:"problem,omitempty"` // why it has no lines
}

// givenSource is a source, with a directory in which to find the packages that compile it.
type givenSource struct {
	path, from string
	contractsource.Source
}

// RegisterSources declares the flag for the sources of a trace.
func RegisterSources(command *cobra.Command, into *[]string) {
	command.Flags().StringArrayVar(into, "source", nil,
		"project directory or source archive (`SOURCE`), to show the lines in which calls failed; it is compiled, so "+
			"use only sources that you trust")
}

// ReadSources reads sources. It is called before anything is requested or sent.
func ReadSources(ctx context.Context, s *session.Session, paths []string) (sources []givenSource, err error) {
	for _, path := range paths {
		source, from, err := SourceFor(ctx, s, nil, path)
		if err != nil {
			return nil, fmt.Errorf("--source %s: %w", path, err)
		}
		sources = append(sources, givenSource{path, from, source})
	}
	return sources, nil
}

// builtSource is a source with its two modules, with and without the source's hash. Either may have been deployed.
type builtSource struct {
	givenSource
	contractbuild.Result
	bare []byte

	hash  types.CodeHash           // of the module in the trace, if any
	lines *contractbuild.SourceMap // lines of that module
}

// addLines compiles sources, and adds source lines to the failed calls of a trace that run their code.
func addLines(ctx context.Context, s *session.Session, trace *Trace, sources []givenSource, log io.Writer) error {
	failed := map[types.CodeHash][]types.ContractID{}
	for _, call := range trace.roots() {
		call.failures(failed)
	}
	if len(failed) == 0 {
		s.Note("No call failed: there are no source lines to show.")
		return nil
	}
	known, missed, others := map[types.CodeHash]*builtSource{}, maps.Clone(failed), []*builtSource{}
	for _, given := range sources {
		source, err := buildSource(ctx, given, failed, log)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			noLines(s, trace, given, NotChecked(err).Error())
		case source.lines == nil:
			others = append(others, source)
		default:
			known[source.hash] = source
			delete(missed, source.hash)
			trace.Sources = append(trace.Sources, tracedSource{Source: given.path, Contracts: failed[source.hash]})
		}
	}
	for _, source := range others {
		problem, err := otherCode(ctx, s, source, missed)
		if err != nil {
			return err
		}
		noLines(s, trace, source.givenSource, problem)
	}
	for _, call := range trace.roots() {
		if err := call.addLines(known); err != nil {
			return err
		}
	}
	return nil
}

// noLines reports why a source has no lines.
func noLines(s *session.Session, trace *Trace, source givenSource, problem string) {
	s.Note("Cannot show source lines of %s: %s", source.path, s.Known().Replace(problem))
	trace.Sources = append(trace.Sources, tracedSource{source.path, []types.ContractID{}, problem})
}

// failures collects, by code, the contracts of failed calls with known code positions.
func (c *readCall) failures(into map[types.CodeHash][]types.ContractID) {
	if len(c.StoppedAt) > 0 && !slices.Contains(into[c.CodeHash], c.Contract) {
		into[c.CodeHash] = append(into[c.CodeHash], c.Contract)
	}
	for i := range c.Calls {
		c.Calls[i].failures(into)
	}
}

// buildSource compiles a source. It adds the lines if the source compiles to one of the codes.
func buildSource(
	ctx context.Context, given givenSource, codes map[types.CodeHash][]types.ContractID, log io.Writer,
) (*builtSource, error) {
	options := contractbuild.Options{Log: log, From: given.from, WithSource: true}
	built, err := contractbuild.Build(ctx, given.Source, options)
	if err != nil {
		return nil, err
	}
	source := &builtSource{givenSource: given, Result: built}
	if source.bare, err = built.Bare(); err != nil {
		return nil, err
	}
	for _, module := range [][]byte{source.Module, source.bare} {
		hash := types.CodeHash(contractsource.HashOf(module))
		if codes[hash] == nil {
			continue
		}
		source.hash = hash
		source.lines, err = contractbuild.Map(ctx, given.Source, options, module)
		return source, err
	}
	return source, nil
}

// maxCompared bounds the number of codes that are downloaded for comparison with a source's.
const maxCompared = 4

// otherCode describes how codes without a source differ from this source's module.
func otherCode(
	ctx context.Context, s *session.Session, source *builtSource, missed map[types.CodeHash][]types.ContractID,
) (string, error) {
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	if len(missed) == 0 {
		return "no call of its code failed", nil
	}
	var all []string
	hashes := slices.SortedFunc(maps.Keys(missed), func(a, b types.CodeHash) int { return bytes.Compare(a[:], b[:]) })
	for _, hash := range hashes[:min(len(hashes), maxCompared)] {
		text := "it compiles to different code than " + missed[hash][0].String()
		code, err := s.Client.Code(ctx, hash)
		var answer *client.Error
		if err != nil && !errors.As(err, &answer) { // an answer: no contract has the code, as its deploy failed
			return "", err
		}
		module := source.bare
		if _, says := contractbuild.SourceOf(code); says {
			module = source.Module
		}
		if len(code) > 0 {
			text += ": " + strings.Join(contractbuild.Differences(module, code, source.Linked), "; ")
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n"), nil
}

// errPlaces is returned if a node reports functions that do not exist in the code.
var errPlaces = errors.New("the node reported a failure in a function that the code does not contain")

// addLines adds the lines of calls whose code is known.
func (c *readCall) addLines(known map[types.CodeHash]*builtSource) error {
	if m, ok := known[c.CodeHash]; ok {
		places := make([]contracttest.Place, len(c.StoppedAt))
		for i, p := range c.StoppedAt {
			if p.Function >= uint64(m.lines.Functions()) || p.Offset > types.MaxCodeBytes {
				return errPlaces
			}
			places[i] = contracttest.Place{Function: int(p.Function), At: int(p.Offset)}
		}
		c.Lines = LinesAt(m.Source, m.lines, places)
	}
	for i := range c.Calls {
		if err := c.Calls[i].addLines(known); err != nil {
			return err
		}
	}
	return nil
}
