// Command distrust acts as a lying upstream towards verifiers of block proofs. It searches, by hill climbing over
// bundles that are refused, for those that take the most memory or time to refuse. It serves each bundle over HTTP to a
// child process, which handles it like a replica without state: it fetches the bundle within the bound for the block's
// gas, decodes it and verifies it. It prints the worst bundles, and fails if one is accepted or exceeds a limit. It
// needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// Limits on the cost of refusing a bundle.
const (
	mostMemory = 300 << 20
	mostTime   = 2 * time.Second // processor time
)

type settings struct {
	gas    uint64
	blocks int
	steps  int
	seed   uint64
	verify string // in a child process: URL of the bundle
}

func main() {
	var s settings
	flag.Uint64Var(&s.gas, "gas", 1_000_000_000, "gas used by the blocks")
	flag.IntVar(&s.blocks, "blocks", 1, "number of blocks that used it together; for several the false proof is of their range")
	flag.IntVar(&s.steps, "steps", 200, "number of bundles to try")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the search")
	flag.StringVar(&s.verify, "verify", "", "fetch a bundle from this URL and verify it (the search runs such processes)")
	flag.Parse()
	run := s.search
	if s.verify != "" {
		run = s.victim
	}
	program.Main("distrust", run)
}

// tried is a lie with its cost.
type tried struct {
	lie
	cost
}

// search climbs alternately towards more memory and more time.
func (s settings) search(ctx context.Context) error {
	random := rand.New(rand.NewPCG(s.seed, 0))
	up, err := newUpstream(types.Gas(s.gas), s.blocks)
	if err != nil {
		return err
	}
	defer up.close()
	goals := []struct {
		name  string
		worse func(a, b cost) bool
		worst []tried
	}{
		{"memory", func(a, b cost) bool { return a.Peak > b.Peak }, nil},
		{"time", func(a, b cost) bool { return a.CPU > b.CPU }, nil},
	}
	consider := func(l lie) error {
		l.fit(up.gas, int(up.limit)-(up.blocks+1)*types.SignedHeaderBytes)
		c, err := up.try(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", &l, err)
		}
		for g := range goals {
			goal := &goals[g]
			at := len(goal.worst)
			for at > 0 && goal.worse(c, goal.worst[at-1].cost) {
				at--
			}
			if at < kept {
				goal.worst = append(goal.worst[:at:at], append([]tried{{l, c}}, goal.worst[at:]...)...)
				goal.worst = goal.worst[:min(kept, len(goal.worst))]
			}
			if at == 0 {
				fmt.Printf("%s: %s: %s\n", goal.name, c, &l)
			}
		}
		return nil
	}
	for _, l := range beginnings() {
		if err := consider(l); err != nil {
			return err
		}
	}
	for i := range s.steps {
		worst := goals[i%len(goals)].worst
		if err := consider(worst[random.IntN(len(worst))].changed(random)); err != nil {
			return err
		}
	}
	var over error
	for _, goal := range goals {
		fmt.Printf("\nmost %s:\n", goal.name)
		for _, t := range goal.worst {
			fmt.Printf("  %s: %s\n", t.cost, &t.lie)
			if t.Peak > mostMemory || t.CPU > mostTime {
				over = errors.New("a bundle costs more than it may")
			}
		}
	}
	return over
}

// kept is the number of worst lies from which the search continues.
const kept = 4

// beginnings returns the initial lies: known expensive ones, and for each part one in which it is long.
func beginnings() (all []lie) {
	plain := shape{
		Segments: 1,
		Level:    20,
		Steps:    20,
		Argument: 40_000,
		LogRows:  17,
	}
	many := lie{Entries: 1 << 20, Key: 34, Old: 1, shape: plain}
	long, deep, cut, written := many, many, many, many
	long.Key, long.Old = 161, 16<<10
	deep.Level, deep.Others, deep.Segments, deep.Steps = 248, 1<<17, 8, 248
	cut.Segments = 1 << 16
	written.Differ, written.New = true, 300
	fat := many
	fat.Entries, fat.Segments, fat.Argument = 1<<10, 1<<10, 1<<21
	for _, l := range []lie{many, long, deep, cut, written, fat} {
		for _, answer := range answers {
			l.Answer = answer
			all = append(all, l)
		}
	}
	for _, claim := range claims {
		l := many
		l.Claim, l.Answer = claim, answers[0]
		all = append(all, l)
	}
	return all
}

// changed returns a lie that differs in one or two respects.
func (l lie) changed(random *rand.Rand) lie {
	for range 1 + random.IntN(2) {
		scale := func(n int) int { return int(float64(n+1) * []float64{0, 0.5, 0.8, 1.25, 2, 8}[random.IntN(6)]) }
		switch random.IntN(12) {
		case 0:
			l.Entries = scale(l.Entries)
		case 1:
			l.Key = scale(l.Key)
		case 2:
			l.Old = scale(l.Old)
		case 3:
			l.New = scale(l.New)
		case 4:
			l.Differ = !l.Differ
		case 5:
			l.Segments = scale(l.Segments)
		case 6:
			l.Others = scale(l.Others)
		case 7:
			l.Level = scale(l.Level)
		case 8:
			l.Steps = scale(l.Steps)
		case 9:
			l.Argument = scale(l.Argument)
		case 10:
			l.Claim = claims[random.IntN(len(claims))]
		case 11:
			l.Answer = answers[random.IntN(len(answers))]
		}
	}
	return l
}

// cost is the cost of a bundle to the process that refused it.
type cost struct {
	Peak   uint64        // peak resident memory in bytes
	Fetch  time.Duration // time to fetch the bundle
	Verify time.Duration // time from then to the refusal
	CPU    time.Duration // processor time during Verify
	Why    string
}

func (c cost) String() string {
	return fmt.Sprintf("%d MB, %d ms (%d of processor) after %d ms of fetching (%s)",
		c.Peak/1e6, c.Verify.Milliseconds(), c.CPU.Milliseconds(), c.Fetch.Milliseconds(), c.Why[:min(len(c.Why), 90)])
}
