package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// writeTable writes the results as a Markdown table, followed by the outcomes.
func writeTable(w io.Writer, results []result) error {
	var b strings.Builder
	b.WriteString("| attack | requests/s | wrong | honest transfers | blocks, most | p50 s | p99 s | reads p50 ms | " +
		"p99 ms | block interval, most s | memory, most MiB | after MiB | goroutines | files | pending | node cores | " +
		"attacker cores |\n")
	b.WriteString("|---|" + strings.Repeat("---:|", 16) + "\n")
	for _, r := range results {
		fmt.Fprintf(&b,
			"| %s | %.0f | %d | %d | %d | %.2f | %.2f | %.1f | %.1f | %.2f | %d | %d | %d | %d | %d | %.2f | %.2f |\n",
			r.Attack, r.RequestsPerSecond, r.Wrong, r.HonestIncluded, r.HonestBlocks, r.HonestP50, r.HonestP99,
			r.ReadP50*1e3, r.ReadP99*1e3, r.BlockInterval, r.MemoryMax>>20, r.MemoryAfter>>20, r.Goroutines, r.Files,
			r.Pending, r.NodeCores, r.AttackerCores)
	}
	b.WriteString("\n| attack | answers |\n|---|---|\n")
	for _, r := range results {
		outcomes := slices.SortedFunc(maps.Keys(r.Outcomes), func(x, y string) int {
			return cmp.Or(r.Outcomes[y]-r.Outcomes[x], strings.Compare(x, y))
		})
		for i, outcome := range outcomes {
			outcomes[i] = fmt.Sprintf("%d × %s", r.Outcomes[outcome], outcome)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", r.Attack, strings.Join(outcomes, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
