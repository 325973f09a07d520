// Command gas measures the cost per gas of each operation. It fills a block with calls of a contract that does little
// else, and divides the processor time of making the block by its gas. It prints a Markdown table. The schedule
// promises at most 1 ns per gas on the reference machine (docs/protocol.md, "Gas schedule").
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

func main() {
	gas := flag.Uint64("gas", 50_000_000, "gas of each measured block, up to a block's limit")
	runs := flag.Int("runs", 3, "runs of each measurement; the least time counts")
	part := flag.String("part", "", "run only modules, operations or cold; contracts: print the parts of the examples' gas")
	raw := flag.Bool("raw", false, "with -part contracts: numbers only, as in before.txt")
	flag.Parse()
	var err error
	if *part == "contracts" {
		err = contracts(os.Stdout, *raw)
	} else {
		err = measureAll(types.Gas(*gas), *runs, *part)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gas:", err)
		os.Exit(1)
	}
}

func measureAll(gas types.Gas, runs int, part string) error {
	chained, err := hunt.Chained()
	if err != nil {
		return err
	}
	fmt.Printf("A multiplication with an addition that waits for the one before: %.2f ns.\n", chained)
	t := &table{out: os.Stdout, runs: runs}
	for _, section := range []struct {
		name, title string
		measure     func(*table) error
	}{
		{"modules", "Deploys", compileBombs},
		{"operations", "Operations", func(t *table) error { return operations(t, gas) }},
		{"cold", "Blocks of calls that load code, 32 gas a unit at least", coldBlocks},
	} {
		if part != "" && part != section.name {
			continue
		}
		t.begin(section.title)
		if err := section.measure(t); err != nil {
			return err
		}
		t.end()
	}
	return nil
}

// operations measures blocks of calls that each do little but one thing, and blocks of the worst known calls.
func operations(t *table, gas types.Gas) (err error) {
	n, err := hunt.NewChain(wasm.Options{}, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, c := range cases() {
		calls, err := n.Deploy(c.candidate)
		if hunt.IsRefusal(err) {
			t.skip(c.name)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		made, err := n.Measure(calls, gas, t.runs, func(m *hunt.Made) time.Duration { return m.Took })
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t.row(c.name, made.Gas, made.Took)
	}
	return nil
}
