// Command peers compares Cairn with the Ethereum nodes geth and anvil: the same load from the same generator, on the
// same machine, one node at a time in turns. It prints a Markdown table of medians and ratios to standard output. It
// only measures: no threshold can fail.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// settings holds the flags.
type settings struct {
	rounds, senders, perSender int
	readTime                   time.Duration
	directory                  string
}

func main() {
	var s settings
	cairn := flag.String("cairn", "../../bin/cairn", "Cairn's binary")
	geth := flag.String("geth", "", "geth's binary; empty: without geth")
	anvil := flag.String("anvil", "", "anvil's binary; empty: without anvil")
	flag.IntVar(&s.rounds, "rounds", 5, "runs of each node")
	flag.IntVar(&s.senders, "senders", 400, "number of sending accounts")
	flag.IntVar(&s.perSender, "per-sender", 500, "transfers per sender")
	flag.DurationVar(&s.readTime, "read-time", 10*time.Second, "duration of a load of reads")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "parent of the nodes' data directories")
	flag.Parse()
	program.Main("peers", func(ctx context.Context) error { return compare(ctx, s, peersOf(*cairn, *geth, *anvil)) })
}

// compare measures the nodes in turns, and writes the table.
func compare(ctx context.Context, s settings, peers []peer) error {
	samples := make([]sample, len(peers))
	for round := range s.rounds {
		for i, p := range peers {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, s.rounds, p.name)
			if samples[i] == nil {
				samples[i] = sample{}
			}
			if err := s.measure(ctx, p, samples[i]); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return writeTable(os.Stdout, s, peers, samples)
}

// measure runs all loads on one node.
func (s settings) measure(ctx context.Context, p peer, into sample) error {
	dir, err := os.MkdirTemp(s.directory, "cairn-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	node, err := p.start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := node.End(syscall.SIGTERM); stopped != nil { // the measurements are complete
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, stopped)
		}
	}()
	plan := loadgen.Plan{Load: loadgen.Transfers, Connections: 16, Senders: s.senders, PerSender: s.perSender}
	reads := loadgen.Plan{Load: loadgen.Reads, Connections: 32, Senders: s.senders, PerSender: 1}
	for _, l := range []load{
		{plan, 100, []row{includedBatched, acceptedBatched}},
		{reads, 1, []row{balances, balancesP99}},
		{reads, 100, []row{balancesBatched}},
		{plan, 1, []row{includedSingly, acceptedSingly}},
	} {
		if err := s.run(ctx, p, node.url, l, into); err != nil {
			return err
		}
	}
	return nil
}

// load is a load, with the rows that it is measured for.
type load struct {
	plan  loadgen.Plan
	batch int
	rows  []row
}

func (s settings) run(ctx context.Context, p peer, url string, l load, into sample) error {
	target, err := p.prepare(ctx, url, l.plan)
	if err != nil {
		return err
	}
	queues, err := loadgen.Prepare(ctx, target, l.plan, nil)
	if err != nil {
		return err
	}
	options := loadgen.Options{URL: url, Batch: l.batch, Settle: 2 * time.Minute}
	if l.plan.Load == loadgen.Reads {
		options.Duration = s.readTime
	}
	report, err := loadgen.Run(ctx, target, l.plan, queues, options)
	if err != nil {
		return err
	}
	if report.Interrupted {
		return ctx.Err()
	}
	for _, e := range report.Errors {
		fmt.Fprintf(os.Stderr, "%s: %d × error %s: %s\n", p.name, e.Count, e.Code, e.Example)
	}
	if i := report.Inclusion; i != nil && i.Included < i.Accepted {
		fmt.Fprintf(os.Stderr, "%s: %d of %d transfers included\n", p.name, i.Included, i.Accepted)
	}
	for _, r := range l.rows {
		if value, ok := r.value(report); ok {
			into[r.name] = append(into[r.name], value)
		}
	}
	return nil
}
