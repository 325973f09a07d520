package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// agree compares nodes for a while, on candidates of the corpus, near it and at random. Nothing is timed, so the result
// is as valid on an emulated processor. It tries at least one candidate.
func agree(length time.Duration, seed uint64) error {
	r, corpus := rand.New(rand.NewPCG(seed, 1)), hunt.Corpus()
	fmt.Printf("seed %d\n", seed)
	tried, refused, differ := 0, 0, 0
	for end := time.Now().Add(length); tried == 0 || time.Now().Before(end); {
		g := corpus[r.IntN(len(corpus))]
		switch r.IntN(3) {
		case 0:
			g = hunt.Fresh(r, []hunt.Kind{hunt.Code, hunt.Chain}[r.IntN(2)])
		case 1:
			g = g.Mutate(r)
		}
		c := g.Build()
		c.Copies = min(c.Copies, 2)
		problems, err := hunt.Disagreements([]hunt.Candidate{c}, agreeGas)
		if hunt.IsRefusal(err) {
			refused++
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
		tried++
		for _, p := range problems {
			differ++
			fmt.Printf("DIFFERS %s: `%s`\n", p, g)
		}
	}
	fmt.Printf("%d candidates, %d that the rules refuse\n", tried, refused)
	if differ > 0 {
		return errors.New("nodes do not agree")
	}
	return nil
}

// agreeGas is the gas of a call. It is low because the interpreter is slow on an emulated processor.
const agreeGas = 100_000
