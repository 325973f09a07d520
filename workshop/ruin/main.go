// Command ruin damages the data directory of a node, the real program in a process, at random: any file, at any time,
// in one of the ways in which disks and people do. The node is alone, a replica (with or without state) or an archive that
// follows an undamaged primary, or one of a cluster of three. Then it judges the node. The node must serve, or stop with
// a message that names a command or a page's section as the next step, and with exit code 2 unless a restart helps. It
// must not give a wrong answer or panic, must report what it lost, and must stop in time when asked. A node that has
// others beside it must catch up with them or say why it cannot, and must not blame the producer. The others must make
// blocks meanwhile, and lose nothing. Each fault has its own seed, which is printed: -seed 7 -faults 1 repeats that one,
// with the same -nodes. It needs Linux; as root it also fills disks.
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
	"strings"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

func main() {
	var s settings
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "parent of the data directories")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the first fault")
	flag.IntVar(&s.faults, "faults", 200, "number of faults")
	flag.StringVar(&s.nodes, "nodes", strings.Join(slices.Concat([]string{"stopped", "killed", "member"}, followers), ","),
		"which nodes are damaged")
	flag.Parse()
	program.Main("ruin", s.run)
}

type settings struct {
	binary, directory string
	seed              uint64
	faults            int
	nodes             string
}

// run makes faults in sequence, each on a copy of the prepared directories.
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
