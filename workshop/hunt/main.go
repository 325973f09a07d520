// Command hunt searches for contracts that cost a node more than they pay for. For each objective it climbs from the
// corpus and from new genes towards worse candidates, and writes the worst to a results file. Candidates are measured
// in a child process with bounded memory and time; a candidate that ends the process is a finding.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

func main() {
	hours := flag.Float64("hours", 8, "duration of the search")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the search")
	only := flag.String("only", "", "comma-separated objectives; all if empty")
	out := flag.String("out", "hunt/worst.md", "results file; the search continues from its records")
	blank := flag.Bool("blank", false,
		"begin with neither the corpus nor the records: does the search find what is known?")
	replay := flag.String("replay", "", "measure these genes by every objective of -only, and exit")
	agreement := flag.Bool("agree", false, "measure nothing; check that nodes agree, for the time of -for")
	length := flag.Duration("for", time.Minute, "duration of -agree")
	worker := flag.Bool("worker", false, "measure the cases on standard input (the search starts such processes)")
	flag.Parse()
	err := machine.HugePages() // as a node does
	switch {
	case err != nil:
	case *worker:
		err = work(bufio.NewScanner(os.Stdin), os.Stdout)
	case *agreement:
		err = agree(*length, *seed)
	case *replay != "":
		err = measureAll(*replay, *only)
	default:
		err = search(time.Duration(*hours*float64(time.Hour)), *seed, *only, *out, *blank)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hunt:", err)
		os.Exit(1)
	}
}

// measureAll prints the scores of one candidate for the objectives selected by only.
func measureAll(line, only string) error {
	g, err := hunt.Parse(line)
	if err != nil {
		return err
	}
	unit, err := hunt.Unit()
	if err != nil {
		return err
	}
	fmt.Printf("unit %.2f\n", unit)
	for _, o := range hunt.Objectives {
		if asked(only, o) && slices.Contains(o.Kinds, g.Kind()) {
			score, err := o.Measure(g, 5)
			fmt.Printf("%-9s %8.3f %s (%d gas in %v) %v\n", o.Name, score.Value, o.Unit, score.Gas, score.Took, errorText(err))
		}
	}
	return nil
}

// asked reports whether -only selects an objective; empty selects all.
func asked(only string, o hunt.Objective) bool {
	return only == "" || slices.Contains(strings.Split(only, ","), o.Name)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
}

// search climbs for each objective in turn until the time is up.
func search(length time.Duration, seed uint64, only, out string, blank bool) (err error) {
	unit, err := hunt.Unit()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	fmt.Printf("seed %d; 1 unit is %.2f ns here\n", seed, unit)
	records, err := readRecords(out)
	if err != nil {
		return err
	}
	corpus := hunt.Corpus()
	if blank {
		records, corpus = newRecords(), nil
	}
	end := time.Now().Add(length)
	c := &climber{Rand: r, end: end, unit: unit}
	defer func() {
		c.stop()
		err = errors.Join(err, records.write(out, unit, c.measured, c.used))
	}()
	for round := 0; time.Now().Before(end); round++ {
		for _, o := range hunt.Objectives {
			if !asked(only, o) {
				continue
			}
			if round == 0 { // the corpus and old records first: prices and machines change
				for _, g := range slices.Concat(corpus, records.of(o.Name)) {
					if slices.Contains(o.Kinds, g.Kind()) {
						records.keep(o, c.confirmed(o, g))
					}
				}
			} else {
				records.keep(o, c.climb(o, records.of(o.Name)))
			}
			if err := records.write(out, unit, c.measured, c.used); err != nil {
				return err
			}
		}
	}
	return nil
}
