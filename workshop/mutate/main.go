// Command mutate makes transactions and blocks of every kind, changes them, and asks two implementations of
// docs/protocol.md whether they are valid: the node's code, and the independent one in Python. It ends at the first
// difference. At the end it counts the cases by the rule that they break first. Other attacks are tried with -attack.
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
	seed := flag.Uint64("seed", 1, "of the random choices")
	cases := flag.Int("cases", 10_000, "how many transactions and blocks are judged")
	blocks := flag.Int("blocks", 10, "how many of a hundred cases are blocks")
	script := flag.String("judge", "e2e/independent/judge.py", "the independent judge: a Python script and its arguments")
	attack := flag.String("attack", "mutation", "one of "+strings.Join(slices.Sorted(maps.Keys(attacks)), ", "))
	flag.Parse()
	if err := mutate(os.Stdout, *attack, *seed, *cases, *blocks, *script); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// attacks make cases, each call with other accounts and chains.
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
