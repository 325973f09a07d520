package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// write writes the tables, and the plots.
func write(s settings, results []result, lengths []point, atRest string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Medians of %d runs in one process, on disk; "+
		"before each the database finished its compactions.\n\n"+
		"| leaves of the state | %d updates: root and synced commit, ms | of it the root | of it the disk "+
		"| a block of %d transfers, ms | start, s | until all is in memory, s | start after a crash, s "+
		"| database, MiB | memory a leaf, B |\n|---|---|---|---|---|---|---|---|---|---|\n", s.runs, updatesPerBlock, s.blockSize)
	var updates, blocks []point
	for _, r := range results {
		fmt.Fprintf(&text, "| %d | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %d | %.0f |\n", r.leaves,
			milliseconds(r.update.all()), milliseconds(r.update.root), milliseconds(r.update.store),
			milliseconds(r.block), r.start.Seconds(), r.load.Seconds(), r.crash.Seconds(), r.disk>>20, r.memory)
		updates = append(updates, point{float64(r.leaves), milliseconds(r.update.all())})
		blocks = append(blocks, point{float64(r.leaves), milliseconds(r.block)})
	}
	for _, r := range results {
		if r.steady != nil {
			text.WriteString(r.steady.table(r.leaves))
		}
	}
	if len(lengths) > 0 {
		fmt.Fprintf(&text, "\n| transfers in a block, %d leaves | ms | µs a transfer |\n|---|---|---|\n", s.rest)
		for _, p := range lengths {
			fmt.Fprintf(&text, "| %.0f | %.1f | %.1f |\n", p.x, p.y, 1000*p.y/p.x)
		}
		fmt.Fprintf(&text, "\nMemory of a node at rest with %d accounts: %s.\n", s.rest, atRest)
	}
	for name, p := range map[string]plot{
		"growth-state.svg": {"What a block costs against the size of the state", "leaves", "ms", []series{
			{fmt.Sprintf("block of %d transfers", s.blockSize), blocks}, {"10,000 updates: root and synced commit", updates},
		}},
		"growth-block.svg": {"What a block costs against its transfers", "transfers", "ms", []series{
			{fmt.Sprintf("block, %d leaves", s.rest), lengths},
		}},
	} {
		if err := os.WriteFile(filepath.Join(s.plots, name), []byte(p.svg()), 0o644); err != nil {
			return err
		}
	}
	_, err := os.Stdout.WriteString(text.String())
	return err
}
