package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// kept is the number of records per objective, of different shapes if possible.
const kept = 3

// records holds the worst candidates of each objective, the worst first.
type records struct {
	worst  map[string][]found
	faults []string
	hours  float64                 // processor hours of earlier searches in the file with this schedule
	before map[string][]hunt.Genes // from the file, not measured yet
}

func newRecords() *records {
	return &records{worst: map[string][]found{}, before: map[string][]hunt.Genes{}}
}

// readRecords reads the genes in a results file.
func readRecords(file string) (*records, error) {
	r := newRecords()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return r, nil
	} else if err != nil {
		return nil, err
	}
	objective, schedule := "", ""
	for line := range strings.Lines(string(text)) {
		if digest, ok := strings.CutPrefix(line, scheduleLine); ok {
			schedule = strings.TrimSpace(digest)
			continue
		}
		if hours, ok := strings.CutPrefix(line, hoursLine); ok {
			if schedule != params.Prices.Digest().String() {
				continue // for other prices
			}
			if _, err := fmt.Sscan(hours, &r.hours); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", file, line, err)
			}
			continue
		}
		if name, ok := strings.CutPrefix(line, "## "); ok {
			objective, _, _ = strings.Cut(name, ":")
			continue
		}
		if fault, ok := strings.CutPrefix(line, "- "); ok {
			objective, _, _ = strings.Cut(fault, ":")
		} else if !strings.HasPrefix(line, "| ") {
			continue
		}
		if parts := strings.Split(line, "`"); len(parts) == 3 {
			if g, err := hunt.Parse(parts[1]); err == nil { // a shape that is no more is no record
				r.before[objective] = append(r.before[objective], g)
			}
		}
	}
	return r, nil
}

// Beginnings of the lines in a results file for the digest of its schedule and for the total time of its searches.
const (
	scheduleLine = "Schedule digest: "
	hoursLine    = "Hours of the processor, all searches on this schedule: "
)

// of returns the genes of an objective's records.
func (r *records) of(objective string) (all []hunt.Genes) {
	for _, f := range r.worst[objective] {
		all = append(all, f.genes)
	}
	if len(all) == 0 {
		return r.before[objective]
	}
	return all
}

// keep adds a candidate to the records if it is bad enough, with at most two records of a shape.
func (r *records) keep(o hunt.Objective, f found) {
	if f.fault != "" {
		text := fmt.Sprintf("%s: %s: `%s`", o.Name, f.fault, f.genes)
		fmt.Println("FAULT", text)
		r.faults = append(r.faults, text)
		return
	}
	if f.score.Value <= 0 {
		return
	}
	all := r.worst[o.Name]
	if slices.ContainsFunc(all, func(g found) bool { return g.genes.String() == f.genes.String() }) {
		return
	}
	all = append(all, f)
	slices.SortStableFunc(all, func(a, b found) int {
		switch {
		case a.score.Value > b.score.Value:
			return -1
		case a.score.Value < b.score.Value:
			return 1
		}
		return 0
	})
	shapes := map[string]int{}
	all = slices.DeleteFunc(all, func(f found) bool {
		shapes[f.genes.Shape()]++
		return shapes[f.genes.Shape()] > 2
	})
	r.worst[o.Name] = all[:min(kept, len(all))]
	if r.worst[o.Name][0].genes.String() == f.genes.String() {
		fmt.Printf("%-9s %8.3f %s\n", o.Name, f.score.Value, f.genes)
	}
}

// write writes the results file after a search that used the given processor time.
func (r *records) write(file string, unit float64, measured int, used time.Duration) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The worst that was found\n\n"+
		"By `make hunt` on %s/%s, %s: %d measurements in the last search. One unit is %.2f ns:\n"+
		"a multiplication with an addition that waits for it takes %.2f units. Times are the least of %d runs.\n\n"+
		"%s%s\n\n%s%.4f\n",
		runtime.GOOS, runtime.GOARCH, runtime.Version(), measured, unit, hunt.ChainedThere, record,
		scheduleLine, params.Prices.Digest(), hoursLine, r.hours+used.Hours())
	for _, o := range hunt.Objectives {
		fmt.Fprintf(&b, "\n## %s: %s\n\n", o.Name, o.Unit)
		if len(r.of(o.Name)) == 0 {
			fmt.Fprintln(&b, "Nothing was found.")
			continue
		}
		fmt.Fprint(&b, "| value | in units | genes |\n|---:|---:|---|\n")
		if len(r.worst[o.Name]) == 0 {
			for _, g := range r.before[o.Name] {
				fmt.Fprintf(&b, "| not measured again yet | | `%s` |\n", g)
			}
		}
		for _, f := range r.worst[o.Name] {
			units := "–"
			if o.Timed {
				units = fmt.Sprintf("%.2f", f.score.Value/unit)
			}
			fmt.Fprintf(&b, "| %.3f | %s | `%s` |\n", f.score.Value, units, f.genes)
		}
	}
	fmt.Fprint(&b, "\n## faults\n\n")
	for _, f := range r.faults {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	if len(r.faults) == 0 {
		fmt.Fprintln(&b,
			"None: no candidate took more than the memory and time of the process that measured it, or ended it.")
	}
	next := file + ".new" // so that a search which is ended loses nothing
	if err := os.WriteFile(next, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}
