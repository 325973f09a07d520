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
	excepted := slices.Contains(longFiles, name)
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
		if excepted {
			return
		}
		report(to, "a line has at most %d characters", maxColumns)
	}
	if excepted {
		report(file.Package, "%s has no long line any more: take it out of longFiles", name)
	}
}

// longFiles still have lines that are too long. The list only shrinks.
var longFiles = []string{
	"abi/abi.go",
	"abi/abi_test.go",
	"abi/binary_test.go",
	"abi/call.go",
	"abi/check.go",
	"abi/doc.go",
	"abi/json.go",
	"abi/types.go",
	"bench/hunt/climb.go",
	"bench/hunt/main.go",
	"bench/hunt/process.go",
	"bench/hunt/records.go",
	"client/contracttest/chain_test.go",
	"client/contracttest/contract.go",
	"client/contracttest/doc.go",
	"client/contracttest/token.go",
	"internal/archtest/table.go",
	"internal/cli/contract_test.go",
	"internal/engine/cluster/create.go",
	"internal/engine/cluster/create_test.go",
	"internal/engine/cluster/link/calls.go",
	"internal/engine/cluster/link/link.go",
	"internal/engine/cluster/link/link_test.go",
	"internal/engine/cluster/link/socket_linux.go",
	"internal/engine/cluster/service.go",
	"internal/testkit/clustersim/bug_test.go",
	"internal/testkit/clustersim/doc.go",
	"internal/testkit/clustersim/machine.go",
	"internal/testkit/hunt/blocks.go",
	"internal/testkit/hunt/chain.go",
	"internal/testkit/hunt/doc.go",
	"internal/testkit/hunt/frames.go",
	"internal/testkit/hunt/genes.go",
	"internal/testkit/hunt/graph.go",
	"internal/testkit/hunt/host.go",
	"internal/testkit/hunt/hunt_test.go",
	"internal/testkit/hunt/measure.go",
	"internal/testkit/hunt/merges.go",
	"internal/testkit/hunt/random.go",
	"internal/testkit/hunt/stateless_test.go",
	"internal/testkit/hunt/statement.go",
	"internal/testkit/hunt/straight.go",
	"internal/testkit/sim/network.go",
}
