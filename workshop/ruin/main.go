// Command ruin damages the data directory of a node, the real program in a process of its own, by chance: any file, at
// any moment, in one of the ways of which disks and people are capable. The node is alone, or one of a cluster of three.
// Then it judges. The node serves, or ends with a message that names a command or a page's section as the next step, and
// with exit code 2 unless another start helps. It gives no wrong answer, does not panic, reports what it lost, and ends in
// time when it is asked to. The other members make blocks meanwhile, and lose nothing. Each fault comes from a seed of its
// own, which is printed: -seed 7 -faults 1 makes that one again. It needs Linux; as root it fills disks too.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

func main() {
	var s settings
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "where the data directories are made")
	flag.Uint64Var(&s.seed, "seed", 1, "of the first fault")
	flag.IntVar(&s.faults, "faults", 200, "how many faults are made")
	flag.Parse()
	program.Main("ruin", s.run)
}

type settings struct {
	binary, directory string
	seed              uint64
	faults            int
}

// run makes faults, one after the other, each on a copy of what was prepared.
func (s settings) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-ruin-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := &world{settings: s, dir: dir}
	if err := w.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	counts, broken := make(map[string]int), 0
	for i := range s.faults {
		t, err := w.try(ctx, s.seed+uint64(i))
		if err != nil {
			return fmt.Errorf("seed %d: %w", s.seed+uint64(i), err)
		}
		fmt.Println(t)
		counts[t.fault.kind+": "+t.outcome]++
		if len(t.broken) > 0 {
			broken++
			saved := filepath.Join(s.directory, fmt.Sprintf("ruin-%d.log", t.seed))
			if err := os.WriteFile(saved, []byte(t.log), 0o600); err != nil {
				return err
			}
			fmt.Println("\tthe node's log:", saved)
		}
	}
	for _, outcome := range slices.SortedFunc(maps.Keys(counts), cmp.Compare[string]) {
		fmt.Printf("%4d  %s\n", counts[outcome], outcome)
	}
	fmt.Printf("%d faults from seed %d, %d break a rule\n", s.faults, s.seed, broken)
	if broken > 0 {
		return fmt.Errorf("%d of %d faults break a rule", broken, s.faults)
	}
	return nil
}
