// Command proving measures the cost of proving on a machine with a chain under load, and the block interval that it
// sustains. For each way of proving (none, by the node's own process, by `cairn prove` beside it) it runs a development
// chain, sends it transfers at a steady rate, and prints a line of a Markdown table. A rate above the chain's capacity
// loads it fully. The output of the nodes goes to standard error.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// settings holds the flags.
type settings struct {
	binary, dir        string
	rate               float64 // transfers per second
	duration           time.Duration
	blockTime          time.Duration
	drain              time.Duration // time limit for proving the remaining blocks after the load
	connections, batch int
	senders, proofBits int
	rpcAddr, adminAddr string
	modes              []string
}

// The ways of proving.
const (
	off       = "off"
	here      = "here"
	elsewhere = "elsewhere"
)

func main() {
	var s settings
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.dir, "dir", os.TempDir(), "parent directory of the chains")
	flag.Float64Var(
		&s.rate, "rate", 1_000, "transfers a second; what the chain does not take is sent again while there is time",
	)
	flag.DurationVar(&s.duration, "duration", time.Minute, "duration of the load, for each way of proving")
	flag.DurationVar(&s.blockTime, "block-time", time.Second, "time between blocks")
	flag.DurationVar(&s.drain, "drain", time.Minute, "time limit of the prover after the load")
	flag.IntVar(&s.connections, "connections", 8, "connections")
	flag.IntVar(&s.batch, "batch", 50, "calls per request")
	flag.IntVar(&s.senders, "senders", 1_000, "number of accounts, which send and receive")
	flag.IntVar(&s.proofBits, "proof-bits", 128, "proven bits of the proofs: 100 or 128")
	flag.StringVar(&s.rpcAddr, "rpc-addr", "127.0.0.1:0", "address of the nodes' JSON-RPC")
	flag.StringVar(&s.adminAddr, "admin-addr", "127.0.0.1:0", "the nodes' admin address")
	flag.Parse()
	if s.modes = flag.Args(); len(s.modes) == 0 {
		s.modes = []string{off, here, elsewhere}
	}
	program.Main("proving", s.run)
}

// run measures the ways of proving in sequence.
func (s settings) run(ctx context.Context) error {
	fmt.Printf(
		"%.0f transfers a second for %v, blocks every %v, proofs of %d bits:\n\n%s\n", s.rate, s.duration, s.blockTime,
		s.proofBits, header,
	)
	for _, mode := range s.modes {
		o, err := s.measure(ctx, mode)
		if err != nil {
			return fmt.Errorf("--prove %s: %w", mode, err)
		}
		fmt.Println(o.line(mode))
	}
	return nil
}

// outcome holds the measurements of one way of proving.
type outcome struct {
	report       loadgen.Report
	intervals    []time.Duration // between blocks, as seen by a subscriber, ascending
	node, prover float64         // CPU seconds from the first transfer to the inclusion of the last
	proofs       float64         // made during that time
	blocks       float64         // made during that time
	lags         []float64       // unproven blocks, each second of that time
	touched      touched         // of the median block
	drained      time.Duration   // time from then until every block had its proof; 0 on timeout
	loaded       time.Duration   // duration of the load
}

// measure runs a chain with one way of proving.
func (s settings) measure(ctx context.Context, mode string) (o outcome, err error) {
	n, err := startNode(ctx, s, mode)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	c, err := client.New(n.RPC, client.WithRetry(0))
	if err != nil {
		return o, err
	}
	defer c.Close()
	plan := loadgen.Plan{
		Load: loadgen.Transfers, Connections: s.connections, Senders: s.senders,
		PerSender: int(s.rate*s.duration.Seconds())/s.senders + 1,
	}
	target, err := loadgen.PrepareCairn(ctx, c, plan, nil, note)
	if err != nil {
		return o, err
	}
	if err := c.Dev().SetManual(ctx); err != nil { // no blocks are made while the transfers are signed
		return o, err
	}
	calls, err := loadgen.Prepare(ctx, target, plan, nil)
	if err != nil {
		return o, err
	}
	if mode != off { // exclude the blocks that fund the senders
		drained, err := s.awaitProofs(ctx, n)
		if err != nil {
			return o, err
		}
		if drained == 0 {
			return o, fmt.Errorf("the blocks that fund the senders are not proven after %v", s.drain)
		}
	}
	note("sending")
	if err := c.Dev().SetBlockTime(ctx, s.blockTime); err != nil {
		return o, err
	}
	first, err := c.BlockNumber(ctx)
	if err != nil {
		return o, err
	}
	if err := s.load(ctx, n, c, &o, func() (err error) {
		o.report, err = loadgen.Run(ctx, target, plan, calls, loadgen.Options{
			URL: n.RPC, Batch: s.batch, Rate: s.rate, Duration: s.duration, Settle: 10*s.blockTime + 30*time.Second,
		})
		return err
	}); err != nil {
		return o, err
	}
	if mode != off {
		if o.drained, err = s.awaitProofs(ctx, n); err != nil {
			return o, err
		}
	}
	o.touched, err = medianTouched(ctx, c, types.Height(first)+1, types.Height(o.blocks))
	return o, err
}

// note prints progress to standard error.
func note(text string) { fmt.Fprintln(os.Stderr, "proving:", text) }

// load sends the transfers, and observes the chain until they are included.
func (s settings) load(ctx context.Context, n *node, c *client.Client, o *outcome, send func() error) error {
	before, err := n.sample(ctx)
	if err != nil {
		return err
	}
	observing, stop := context.WithCancel(ctx)
	defer stop()
	lags, intervals := make(chan []float64, 1), make(chan []time.Duration, 1)
	go func() { lags <- n.lags(observing) }()
	go func() { intervals <- blockIntervals(observing, c) }()
	begun := time.Now()
	if err := send(); err != nil {
		return err
	}
	o.loaded = time.Since(begun)
	after, err := n.sample(ctx)
	if err != nil {
		return err
	}
	stop()
	o.lags, o.intervals = append(<-lags, after.lag), <-intervals
	o.node, o.prover = after.nodeCPU-before.nodeCPU, after.proverCPU-before.proverCPU
	o.proofs, o.blocks = after.proofs-before.proofs, after.blocks-before.blocks
	return nil
}

// touched counts the state keys that a block read or wrote, and those that it wrote.
type touched struct{ keys, written int }

// medianTouched returns the median, by keys, of count blocks from a height on.
func medianTouched(ctx context.Context, c *client.Client, from, count types.Height) (median touched, err error) {
	var blocks []touched
	for h := from; h < from+count; h++ {
		accesses, err := accessList(ctx, c, h)
		if err != nil {
			return median, fmt.Errorf("the access list of block %d: %w", h, err)
		}
		blocks = append(blocks, touched{len(accesses), len(types.Writes(accesses))})
	}
	slices.SortFunc(blocks, func(a, b touched) int { return cmp.Compare(a.keys, b.keys) })
	if len(blocks) > 0 {
		median = blocks[len(blocks)/2]
	}
	return median, nil
}

// accessList downloads a block's access list.
func accessList(ctx context.Context, c *client.Client, height types.Height) (_ []types.Access, err error) {
	body, _, err := c.Download(ctx, fmt.Sprintf("/accesses/%d", height), 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	encoded, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return types.DecodeAccesses(encoded)
}

// blockIntervals returns the times between blocks until ctx ends, ascending.
func blockIntervals(ctx context.Context, c *client.Client) (intervals []time.Duration) {
	var last time.Time
	for _, err := range c.SubscribeBlocks(ctx, nil) {
		if err != nil {
			break // the context has ended, or the measurement ends early
		}
		now := time.Now()
		if !last.IsZero() {
			intervals = append(intervals, now.Sub(last))
		}
		last = now
	}
	slices.Sort(intervals)
	return intervals
}

// awaitProofs returns the time until every block had its proof, or 0 on timeout.
func (s settings) awaitProofs(ctx context.Context, n *node) (time.Duration, error) {
	for begun := time.Now(); time.Since(begun) < s.drain; {
		now, err := n.sample(ctx)
		if err != nil {
			return 0, err
		}
		if now.lag <= 1 { // the newest may be in progress
			return time.Since(begun), nil
		}
		select {
		case <-time.After(pollTime):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return 0, nil
}

// header is the header of the table with the lines of [outcome.line].
const header = `| proofs by | included a second | blocks, keys that each touched / wrote | inclusion p50 / p99 ms | between blocks p50 / p99 / max ms | CPU s: node / prover | share of the CPU that proving takes | proofs made | lag half-way / at the end / most | caught up after |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|`

func (o outcome) line(mode string) string {
	r, at := o.report.Inclusion, func(part float64) float64 {
		if len(o.intervals) == 0 {
			return 0
		}
		return float64(o.intervals[min(len(o.intervals)-1, int(part*float64(len(o.intervals))))]) / float64(time.Millisecond)
	}
	rate := 0.0
	if r.PerSecond != nil {
		rate = *r.PerSecond
	}
	drained := "not in time"
	switch {
	case mode == off:
		drained = "–"
	case o.drained > 0:
		drained = fmt.Sprintf("%.1f s", o.drained.Seconds())
	}
	return fmt.Sprintf("| %s | %.0f | %.0f, %d / %d | %.0f / %.0f | %.0f / %.0f / %.0f | %.1f / %.1f | %.0f %% | %.0f | "+
		"%.0f / %.0f / %.0f | %s |",
		mode, rate, o.blocks, o.touched.keys, o.touched.written, r.Latency.P50, r.Latency.P99, at(0.5), at(0.99), at(1),
		o.node, o.prover,
		100*o.prover/(o.loaded.Seconds()*float64(runtime.NumCPU())), o.proofs,
		o.lags[len(o.lags)/2], o.lags[len(o.lags)-1], slices.Max(o.lags), drained)
}
