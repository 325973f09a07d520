package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-chain/cairn/workshop/internal/plot"
)

// write writes the tables, and the plots.
func write(s settings, results []result, lengths []plot.Point, atRest string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Medians of %d runs in one process, on disk; "+
		"before each the database finished its compactions.\n\n"+
		"| leaves of the state | %d updates: root and synced commit, ms | of it the root | of it the disk "+
		"| a block of %d transfers, ms | start, s | until all is in memory, s | start after a crash, s "+
		"| database, MiB | memory a leaf, B |\n|---|---|---|---|---|---|---|---|---|---|\n", s.runs, updatesPerBlock, s.blockSize)
	var updates, blocks []plot.Point
	for _, r := range results {
		fmt.Fprintf(&text, "| %d | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %d | %.0f |\n", r.leaves,
			milliseconds(r.update.all()), milliseconds(r.update.root), milliseconds(r.update.store),
			milliseconds(r.block), r.start.Seconds(), r.load.Seconds(), r.crash.Seconds(), r.disk>>20, r.memory)
		updates = append(updates, plot.Point{X: float64(r.leaves), Y: milliseconds(r.update.all())})
		blocks = append(blocks, plot.Point{X: float64(r.leaves), Y: milliseconds(r.block)})
	}
	for _, r := range results {
		if r.steady != nil {
			text.WriteString(r.steady.table(r.leaves))
		}
	}
	if len(lengths) > 0 {
		fmt.Fprintf(&text, "\n| transfers in a block, %d leaves | ms | µs a transfer |\n|---|---|---|\n", s.rest)
		for _, p := range lengths {
			fmt.Fprintf(&text, "| %.0f | %.1f | %.1f |\n", p.X, p.Y, 1000*p.Y/p.X)
		}
		fmt.Fprintf(&text, "\nMemory of a node at rest with %d accounts: %s.\n", s.rest, atRest)
	}
	for name, p := range map[string]plot.Plot{
		"growth-state.svg": {Title: "What a block costs against the size of the state", X: "leaves", Y: "ms", Log: true, Series: []plot.Series{
			{Name: fmt.Sprintf("block of %d transfers", s.blockSize), Points: blocks},
			{Name: "10,000 updates: root and synced commit", Points: updates},
		}},
		"growth-block.svg": {Title: "What a block costs against its transfers", X: "transfers", Y: "ms", Log: true, Series: []plot.Series{
			{Name: fmt.Sprintf("block, %d leaves", s.rest), Points: lengths},
		}},
	} {
		if err := os.WriteFile(filepath.Join(s.plots, name), []byte(plot.SVG(1, p)), 0o644); err != nil {
			return err
		}
	}
	_, err := os.Stdout.WriteString(text.String())
	return err
}
