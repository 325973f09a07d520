// Command mutate is a differential fuzzer. It makes transactions and blocks of every kind, mutates them, and compares
// the verdicts of two implementations of docs/protocol.md: the node's code, and an independent one in Python. It stops
// at the first difference. At the end it counts the cases by the first rule that they break. Option -attack selects
// other attacks.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
)

func main() {
	seed := flag.Uint64("seed", 1, "random seed")
	cases := flag.Int("cases", 10_000, "number of cases: transactions and blocks")
	blocks := flag.Int("blocks", 10, "percentage of blocks among the cases")
	script := flag.String("judge", "e2e/independent/judge.py", "independent judge: a Python script and its arguments")
	attack := flag.String("attack", "mutation", "one of "+strings.Join(slices.Sorted(maps.Keys(attacks)), ", "))
	flag.Parse()
	if err := mutate(os.Stdout, *attack, *seed, *cases, *blocks, *script); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// attacks generate cases; each call uses new accounts and chains.
var attacks = map[string]func(m *mutator, r *rand.Rand, cases int) error{
	"mutation": (*mutator).round, "roles": (*mutator).roles, "orders": (*mutator).orders, "replays": (*mutator).replays,
	"limits": (*mutator).limits, "history": (*mutator).history, "schnorr": (*mutator).schnorr,
}

func mutate(out io.Writer, attack string, seed uint64, cases, blocks int, script string) (err error) {
	try, known := attacks[attack]
	if !known {
		return fmt.Errorf("there is no attack %q", attack)
	}
	j, err := startJudge(script)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	m := &mutator{judge: j, counts: map[string]int{}, blocks: blocks, engine: engine}
	begun := time.Now()
	const step = 10_000 // cases between reports
	for round, next := 0, step; m.cases < cases; round++ {
		if err := try(m, rand.New(rand.NewPCG(seed, uint64(round))), cases); err != nil {
			return fmt.Errorf("-seed %d, round %d, case %d: %w", seed, round, m.cases, err)
		}
		if m.cases >= next {
			fmt.Fprintf(os.Stderr, "%d cases\n", m.cases)
			next = m.cases + step
		}
	}
	fmt.Fprintf(out, "%d cases with -seed %d in %s: the two agree on each.\n\n", m.cases, seed,
		time.Since(begun).Round(time.Second))
	fmt.Fprintln(out, "| judged | cases |\n|---|---:|")
	for _, name := range slices.Sorted(maps.Keys(m.counts)) {
		fmt.Fprintf(out, "| %s | %d |\n", name, m.counts[name])
	}
	return nil
}
