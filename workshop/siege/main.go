// Command siege attacks a producer and its replica, the real program in separate processes, with contracts. Three
// accounts call code that takes long for its gas, and replace each call that is no longer pending. Four callers request
// views of the same code, and an honest user sends transfers in sequence. Then it kills both nodes and restarts them.
// It prints the results and fails if a rule is violated: each honest transfer is included within three blocks, each
// attacker pays or is refused for a while, neither node takes more than 600 MB, and the nodes have the same chain
// before and after. It needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	mostBlocks = 3         // number of blocks within which an honest transfer must be included
	mostMemory = 600 << 20 // limit of a node's resident memory in bytes
	attackers  = 3
	setAside   = "-32013" // a node's error for a sender that overran, and for calls of code that did
	viewers    = 4
	// catchUpTime limits the time until the replica has the producer's head.
	catchUpTime = 2 * time.Minute
)

func main() {
	var s settings
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "parent of the data directories")
	flag.DurationVar(&s.duration, "duration", 5*time.Minute, "duration of the attack")
	flag.Parse()
	program.Main("siege", s.run)
}

type settings struct {
	binary, directory string
	duration          time.Duration
}

// run attacks two nodes, and prints the results.
func (s settings) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-siege-")
	if err != nil {
		return err
	}
	w := &world{settings: s, dir: dir}
	defer func() { err = errors.Join(err, w.stop(), os.RemoveAll(dir)) }()
	if err := w.found(ctx); err != nil {
		return err
	}
	if err := w.start(ctx); err != nil {
		return err
	}
	contracts, err := w.deploy(ctx)
	if err != nil {
		return err
	}
	before, err := w.balances(ctx)
	if err != nil {
		return err
	}
	seen, err := w.attack(ctx, contracts)
	if err != nil {
		return err
	}
	after, err := w.balances(ctx)
	if err != nil {
		return err
	}
	height, err := w.agree(ctx, 0)
	if err != nil {
		return err
	}
	peaks, err := w.peaks()
	if err != nil {
		return err
	}
	begun := time.Now()
	w.kill()
	if err := w.start(ctx); err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	if _, err := w.agree(ctx, height); err != nil {
		return fmt.Errorf("after the restart: %w", err)
	}
	again := time.Since(begun)
	last, err := w.pay(ctx, honest)
	if err != nil {
		return fmt.Errorf("a transfer after the restart: %w", err)
	}
	return seen.report(s, before, after, height, peaks, again, last)
}

// sight holds the observations of an attack.
type sight struct {
	mu       sync.Mutex
	included []uint64 // blocks until the inclusion of each honest transfer
	sent     [attackers]int
	refused  [attackers]map[string]int
	views    int
	faults   []error
}

func (s *sight) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// report prints the results. It returns an error that names the violated rules.
func (s *sight) report(set settings, before, after []types.Amount, height types.Height, peaks [2]uint64,
	again time.Duration, last uint64) error {
	var broken []error
	rule := func(holds bool, text string, values ...any) {
		if !holds {
			broken = append(broken, fmt.Errorf(text, values...))
		}
	}
	var most, sum uint64
	for _, blocks := range append(s.included, last) {
		most, sum = max(most, blocks), sum+blocks
	}
	fmt.Printf("%s of attack, %d blocks in all, %d views answered\n", set.duration, height, s.views)
	fmt.Printf("honest transfers: %d included, after %.2f blocks in the mean and %d at most\n",
		len(s.included), float64(sum)/float64(len(s.included)+1), most)
	rule(most <= mostBlocks && len(s.included) > 0, "a transfer waited %d blocks, %d were included", most, len(s.included))
	for i := range attackers {
		fmt.Printf("attacker %d (%s): %d calls accepted, paid %.3f coins; refused: %v\n",
			i+1, attacks[i].name, s.sent[i], float64(before[i]-after[i])/float64(types.CoinUnits), s.refused[i])
		rule(after[i] < before[i] || s.refused[i][setAside] > 0, "attacker %d neither paid nor was kept out", i+1)
	}
	for i, name := range []string{"producer", "replica"} {
		fmt.Printf("%s: at most %d MB resident\n", name, peaks[i]>>20)
		rule(peaks[i] <= mostMemory, "the %s took %d MB", name, peaks[i]>>20)
	}
	fmt.Printf("both have the same block %d, and again %s after kill -9; the next transfer waited %d blocks\n",
		height, again.Round(time.Millisecond), last)
	return errors.Join(append(broken, s.faults...)...)
}

// attack runs the attack for its duration.
func (w *world) attack(ctx context.Context, contracts []types.ContractID) (*sight, error) {
	s := &sight{}
	attacking, end := context.WithTimeout(ctx, w.duration)
	defer end()
	var running sync.WaitGroup
	for i := range attackers {
		s.refused[i] = map[string]int{}
		running.Go(func() { w.resend(attacking, s, i, contracts[i]) })
	}
	for i := range viewers {
		running.Go(func() { w.view(attacking, s, i, contracts) })
	}
	for attacking.Err() == nil {
		blocks, err := w.pay(ctx, honest)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("an honest transfer: %w", err), w.nodes[0].EndedEarly(), w.nodes[1].EndedEarly())
		}
		s.included = append(s.included, blocks)
	}
	running.Wait()
	return s, ctx.Err()
}

// balances returns the attackers' balances.
func (w *world) balances(ctx context.Context) (all []types.Amount, err error) {
	for i := range attackers {
		balance, err := w.nodes[0].client.Balance(ctx, signerOf(i).Account(), api.Latest())
		if err != nil {
			return nil, err
		}
		all = append(all, balance)
	}
	return all, nil
}

func (w *world) peaks() (peaks [2]uint64, err error) {
	for i, n := range w.nodes {
		if peaks[i], err = n.Peak(); err != nil {
			return peaks, err
		}
	}
	return peaks, nil
}

// path returns the path of a file of the siege.
func (w *world) path(name string) string { return filepath.Join(w.dir, name) }
