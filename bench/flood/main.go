// Command flood attacks a Cairn node while honest users work on it, with one attack after the other and then with all
// at once. It holds the node to four rules. Every answer is the right one and comes, each honest transaction is
// included within three blocks, blocks come on time, and memory stays under a stated bound. It writes a table in
// Markdown, or JSON, and exits with 1 if a rule was broken. How fast anything was breaks no rule.
//
// The node is the real program, with its default settings, in a process of its own with a data directory. All
// connections come from addresses of 127.0.0.0/8, a range of them for each attack and another for the honest users. The
// node limits the rate and the connections of no loopback address. So an attack stands for one from so many addresses
// that those limits do not help; one attack shows them, through addresses that a trusted proxy names. It needs Linux.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/testkit/program"
)

// settings are the size of the attacks.
type settings struct {
	binary, directory string
	blockTime         time.Duration
	duration          time.Duration // of each attack
	honest            int           // users
	clients           int           // connections of an attack that sends as fast as it is answered
	idle              int           // connections that do nothing
	stock             int           // transactions signed for each attack that needs valid ones
	pool              int           // transactions signed to fill the pool
	rateLimit         uint64
	memoryMiB         uint64 // that the node may take
	quiet             bool   // whether there is one round without an attack first
	together          bool   // whether all attacks come at once at the end
	timing            bool   // whether late blocks, and late inclusion, break a rule
}

func main() {
	s := settings{}
	names := flag.String(
		"attacks",
		"all",
		"attacks that come one after the other, separated by commas: "+strings.Join(attackNames(), " ")+"; all or none",
	)
	asJSON := flag.Bool("json", false, "write JSON instead of a table")
	flag.StringVar(&s.binary, "cairn", "bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "where the node's data directory is made")
	flag.DurationVar(&s.blockTime, "block-time", time.Second, "time between blocks")
	flag.DurationVar(&s.duration, "duration", 20*time.Second, "how long each attack goes on, rounded up to whole blocks")
	flag.IntVar(&s.honest, "honest", 16, "honest users, each of whom sends a transfer when the last one is included")
	flag.IntVar(&s.clients, "clients", 16, "connections of each attack that sends as fast as it is answered")
	flag.IntVar(&s.idle, "idle", 10_500, "idle connections; the node takes 10,000 connections in all")
	flag.IntVar(&s.stock, "stock", 100_000, "transactions that are signed for each attack which needs valid ones")
	flag.IntVar(&s.pool, "pool", 204_800, "transactions that are signed to fill the pool; it takes 200,000")
	flag.Uint64Var(&s.memoryMiB, "memory", 4096, "MiB of memory that the node may take")
	flag.Uint64Var(&s.rateLimit, "rate-limit", 200, "calls a second that the node allows an address")
	flag.BoolVar(&s.quiet, "quiet", true, "begin with a round without an attack")
	flag.BoolVar(&s.together, "together", true, "end with all attacks at once")
	flag.BoolVar(
		&s.timing, "timing", true, "hold the node to the rules about time; false where other programs keep the machine busy",
	)
	flag.Parse()
	program.Main("flood", func(ctx context.Context) error {
		chosen, err := chooseAttacks(*names)
		if err != nil {
			return err
		}
		results, err := flood(ctx, s, chosen, os.Stderr)
		return errors.Join(err, write(os.Stdout, results, *asJSON))
	})
}

// flood starts a node and runs the rounds against it.
func flood(ctx context.Context, s settings, chosen []attack, progress io.Writer) (results []result, err error) {
	node, err := startNode(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, node.stop())
	}()
	var rounds []round
	if s.quiet {
		rounds = append(rounds, round{name: "none"})
	}
	for _, a := range chosen {
		rounds = append(rounds, round{name: a.name, attacks: []attack{a}})
	}
	if s.together {
		rounds = append(rounds, round{name: "all at once", attacks: attacks(), together: true})
	}
	for _, r := range rounds {
		fmt.Fprintf(progress, "%s\n", r.name)
		got, err := r.run(ctx, s, node)
		if err != nil {
			return results, fmt.Errorf("%s: %w", r.name, err)
		}
		for _, v := range got.Violations {
			fmt.Fprintf(progress, "  broken: %s\n", v)
		}
		results = append(results, got)
	}
	return results, nil
}

// write writes the results; an error says that a rule was broken.
func write(w io.Writer, results []result, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(results); err != nil {
			return err
		}
	} else if err := writeTable(w, results); err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r result) bool { return len(r.Violations) > 0 }) {
		return errors.New("a rule was broken")
	}
	return nil
}
