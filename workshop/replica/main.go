// Command replica compares the speed at which a replica imports blocks with the speed at which the primary made them.
// It sends a load of transfers to a development chain, as fast as possible or, for many small blocks, at a rate. Then,
// with nothing else running, an empty replica follows the chain from genesis over loopback until it has the same head.
// It prints a Markdown table with the figures of each round, their medians, and the ratio; no threshold can fail. With
// -stateless, replicas without state follow one chain, by ranges and block by block, and it counts bytes. For 10,000
// blocks of 100 transfers between 10,000 accounts, use -stateless -senders 10000 -per-sender 100.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// settings holds the flags.
type settings struct {
	binary, directory          string
	rounds, senders, perSender int
	blockTime                  time.Duration // between blocks
	rate                       float64       // transfers per second; 0: as many as the primary accepts
	stateless                  bool
	perBlock                   int // transfers per block, for replicas without state
}

// pollTime is the interval of polling the replica: an error of at most 1 % for an import of a second.
const pollTime = 10 * time.Millisecond

func main() {
	var s settings
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "parent of the nodes' data directories")
	flag.IntVar(&s.rounds, "rounds", 3, "rounds, each with a chain of its own")
	flag.IntVar(&s.senders, "senders", 400, "number of sending accounts")
	flag.IntVar(&s.perSender, "per-sender", 1500, "transfers per sender")
	flag.DurationVar(&s.blockTime, "block-time", time.Second, "time between blocks")
	flag.Float64Var(&s.rate, "rate", 0, "transfers a second; 0: as many as the primary takes")
	flag.BoolVar(&s.stateless, "stateless", false, "compare replicas without state: by ranges, and block by block")
	flag.IntVar(&s.perBlock, "per-block", 100, "transfers per block, with -stateless")
	flag.Parse()
	run := s.run
	if s.stateless {
		run = s.compare
	}
	program.Main("replica", run)
}

// round holds the measurements of a round, per transfer.
type round struct {
	made, imported      float64 // transfers per second
	makeCPU             float64 // of the primary while it made the blocks, in µs
	importCPU, serveCPU float64 // of the replica and of the primary while the replica followed, in µs
	blocks, blockTime   float64 // number of imported blocks, and time per block in µs
}

// columns lists the columns of the table.
var columns = []struct {
	name  string
	value func(round) float64
}{
	{"made a second", func(r round) float64 { return r.made }},
	{"imported a second", func(r round) float64 { return r.imported }},
	{"ratio", func(r round) float64 { return r.imported / r.made }},
	{"primary's CPU, µs", func(r round) float64 { return r.makeCPU }},
	{"replica's CPU, µs", func(r round) float64 { return r.importCPU }},
	{"primary's CPU for serving it, µs", func(r round) float64 { return r.serveCPU }},
	{"blocks", func(r round) float64 { return r.blocks }},
	{"µs a block", func(r round) float64 { return r.blockTime }},
}

func (s settings) run(ctx context.Context) error {
	fmt.Printf(
		"%d senders × %d transfers, 16 connections; the load generator shares the cores with the primary.\n\n| round |",
		s.senders, s.perSender,
	)
	rule := "|---|"
	for _, c := range columns {
		fmt.Printf(" %s |", c.name)
		rule += "---:|"
	}
	fmt.Printf("\n%s\n", rule)
	var rounds []round
	for i := range s.rounds {
		r, err := s.measure(ctx)
		if err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		rounds = append(rounds, r)
		printRow(fmt.Sprint(i+1), []round{r})
	}
	printRow("median", rounds)
	return nil
}

// printRow prints the medians of rounds.
func printRow(name string, rounds []round) {
	fmt.Printf("| %s |", name)
	for _, c := range columns {
		var values []float64
		for _, r := range rounds {
			values = append(values, c.value(r))
		}
		slices.Sort(values)
		median := values[len(values)/2]
		fmt.Printf(" %.*f |", max(0, 2-int(math.Log10(median))), median)
	}
	fmt.Println()
}

// measure makes a chain and follows it.
func (s settings) measure(ctx context.Context) (r round, err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-replica-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	primary, err := start(
		ctx, s.binary, filepath.Join(dir, "primary"), "dev", "--rate-limit", "0", "--block-time", s.blockTime.String(),
	)
	if err != nil {
		return r, fmt.Errorf("the primary: %w", err)
	}
	defer func() { err = errors.Join(err, primary.stop()) }()
	transfers, err := s.load(ctx, primary, &r)
	if err != nil {
		return r, err
	}
	info, err := primary.client.NodeInfo(ctx)
	if err != nil {
		return r, err
	}
	head, err := primary.client.BlockNumber(ctx)
	if err != nil {
		return r, err
	}
	served, err := primary.cpu(ctx)
	if err != nil {
		return r, err
	}
	replica, err := start(ctx, s.binary, filepath.Join(dir, "replica"), "node", "--mode", "replica",
		"--upstream", primary.RPC,
		"--genesis-hash", info.GenesisHash.String())
	if err != nil {
		return r, fmt.Errorf("the replica: %w", err)
	}
	defer func() { err = errors.Join(err, replica.stop()) }()
	begun := time.Now() // a few ms after the replica's first request
	if err := replica.reach(ctx, head); err != nil {
		return r, err
	}
	took := time.Since(begun).Seconds()
	r.imported, r.blocks, r.blockTime = transfers/took, float64(head), took/float64(head)*1e6
	importCPU, err := replica.cpu(ctx)
	if err != nil {
		return r, err
	}
	servedAfter, err := primary.cpu(ctx)
	r.importCPU, r.serveCPU = importCPU/transfers*1e6, (servedAfter-served)/transfers*1e6
	return r, err
}

// load sends the transfers and returns the number of included ones.
func (s settings) load(ctx context.Context, primary *node, r *round) (transfers float64, err error) {
	plan := loadgen.Plan{Load: loadgen.Transfers, Connections: 16, Senders: s.senders, PerSender: s.perSender}
	target, err := loadgen.PrepareCairn(ctx, primary.client, plan, nil, func(string) {})
	if err != nil {
		return 0, err
	}
	calls, err := loadgen.Prepare(ctx, target, plan, nil)
	if err != nil {
		return 0, err
	}
	before, err := primary.cpu(ctx)
	if err != nil {
		return 0, err
	}
	batch := 100
	if s.rate > 0 { // small batches, to spread them over the blocks
		batch = 4
	}
	report, err := loadgen.Run(ctx, target, plan, calls, loadgen.Options{
		URL: primary.RPC, Batch: batch, Rate: s.rate, Settle: time.Minute,
	})
	if err != nil {
		return 0, err
	}
	after, err := primary.cpu(ctx)
	if err != nil {
		return 0, err
	}
	switch i := report.Inclusion; {
	case i.Accepted != int64(s.senders*s.perSender): // those refused by a full pool were retried
		return 0, fmt.Errorf("%d transfers were accepted, and refused %v", i.Accepted, report.Errors)
	case i.PerSecond == nil || i.Included != i.Accepted:
		return 0, fmt.Errorf(
			"%d transfers were accepted and %d are in %d blocks: send more", i.Accepted, i.Included, i.Blocks,
		)
	default:
		transfers, r.made = float64(i.Included), *i.PerSecond
	}
	r.makeCPU = (after - before) / transfers * 1e6
	return transfers, nil
}

// reach waits until a node has the block of a height.
func (n *node) reach(ctx context.Context, height types.Height) error {
	for {
		have, err := n.client.BlockNumber(ctx)
		if err != nil || have >= height {
			return err
		}
		select {
		case <-time.After(pollTime):
		case <-n.Ended():
			return fmt.Errorf("the replica at block %d: %w", have, n.EndedEarly())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
