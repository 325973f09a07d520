package main

import (
	"fmt"
	"io"
	"time"

	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/types"
)

// table is a Markdown table of operations with their gas and least processor time over some runs.
type table struct {
	out     io.Writer
	runs    int
	skipped int
	dearest struct {
		name string
		rate float64
	}
}

func (t *table) begin(title string) {
	t.dearest.rate, t.skipped = 0, 0
	fmt.Fprintf(t.out, "\n## %s\n\n| | gas | ms | ns a gas | |\n|---|---:|---:|---:|---|\n", title)
}

// row writes a line. It marks operations whose price is below their time, or more than twice their time.
func (t *table) row(name string, gas types.Gas, took time.Duration) {
	rate := float64(took) / float64(gas)
	verdict := ""
	switch {
	case rate > 1:
		verdict = "under its time"
	case rate < 0.5:
		verdict = "over twice its time"
	}
	if rate > t.dearest.rate {
		t.dearest.name, t.dearest.rate = name, rate
	}
	fmt.Fprintf(t.out, "| %s | %d | %.1f | %.2f | %s |\n", name, gas, float64(took)/1e6, rate, verdict)
}

func (t *table) skip(string) { t.skipped++ }

func (t *table) end() {
	fmt.Fprintf(t.out, "\nMost time for its gas: %s, %.2f ns.", t.dearest.name, t.dearest.rate)
	if t.skipped > 0 {
		fmt.Fprintf(t.out, " Of %d more the rules refuse the code, or its deploy costs more gas than a block has.", t.skipped)
	}
	fmt.Fprintln(t.out)
}

// processorTime returns the processor time, in user and kernel mode, used by the process during f.
func processorTime(f func() error) (time.Duration, error) {
	before, err := cputime.Used()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := cputime.Used()
	return after - before, err
}
