// Command soak sends transfers to a node at a steady rate for a long time. For each window it
// prints the outcome of the transfers, the longest time between two blocks, and the node's resources: memory,
// goroutines, file handles, disk. Resources that do not level off indicate a leak. It fails if a call was refused or an
// accepted transfer is in no block. It also monitors the node's followers: how far they are behind, whether they report
// that, and whether they have the node's blocks at the end.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// settings holds the flags.
type settings struct {
	url, metrics         string
	rate                 float64 // transfers per second
	duration, window     time.Duration
	connections, senders int
	batch                int
	followers            followers
	plot                 string // file for the plots
	keyFile              string
	treasury             *crypto.PrivateKey // nil on a development chain
}

// catchUpTime limits the time for a follower to catch up at the end, and to be compared.
const catchUpTime = 5 * time.Minute

// settleTime limits the time until a window's last transfers are included.
const settleTime = 30 * time.Second

func main() {
	var s settings
	flag.StringVar(&s.url, "rpc-url", "http://127.0.0.1:8777", "URL of the node's JSON-RPC")
	flag.StringVar(&s.metrics, "metrics-url", "http://127.0.0.1:8778/metrics", "URL of the node's metrics")
	flag.Float64Var(&s.rate, "rate", 10_000, "transfers a second")
	flag.DurationVar(&s.duration, "duration", time.Hour, "duration of the load")
	flag.DurationVar(&s.window, "window", time.Minute, "time that a line of the table covers")
	flag.IntVar(&s.connections, "connections", 16, "connections")
	flag.IntVar(&s.senders, "senders", 400, "number of accounts that send in a window")
	flag.IntVar(&s.batch, "batch", 100, "calls per request")
	flag.Var(
		&s.followers, "follower", "URLs of a follower's JSON-RPC and metrics, with a comma between them; may be repeated",
	)
	flag.StringVar(&s.keyFile, "key", "", "file with the private key, in hex, of the account that funds the senders; "+
		"not needed on a development chain")
	flag.StringVar(&s.plot, "plot", "", "file into which the table is drawn, as SVG")
	flag.Parse()
	program.Main("soak", s.run)
}

// window is a part of the run, prepared while the previous one is sent.
type window struct {
	target *loadgen.Cairn
	plan   loadgen.Plan
	calls  [][]loadgen.Call
	err    error
}

// outcome is the result of a window.
type outcome struct {
	report  loadgen.Report
	held    held
	longest float64 // seconds between two blocks
	err     error
}

// run sends windows without a pause: while one is sent, the next is signed, and the previous one waits for inclusion.
func (s settings) run(ctx context.Context) error {
	c, err := client.New(s.url, client.WithRetry(0))
	if err != nil {
		return err
	}
	defer c.Close()
	if s.keyFile != "" {
		if s.treasury, err = readKey(s.keyFile); err != nil {
			return err
		}
	}
	count := int(s.duration / s.window)
	fmt.Printf("%d windows of %v, %.0f transfers a second in requests of %d over %d connections\n\n%s\n",
		count, s.window, s.rate, s.batch, s.connections, header)
	outcomes := make(chan chan outcome, count)
	go s.send(ctx, c, count, outcomes)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watches := s.watch(watching, c)
	var failures []error
	var followed []string
	var number int
	height, err := c.BlockNumber(ctx)
	if err != nil {
		return err
	}
	height = max(height, 1) // the time between blocks 0 and 1 says nothing about the node
	drawn := newDiagrams(len(s.followers))
	for pending := range outcomes {
		o := <-pending
		number++
		if o.err != nil {
			failures = append(failures, fmt.Errorf("window %d: %w", number, o.err))
			break
		}
		head := types.Height(o.held.height)
		if o.longest, o.err = longestInterval(ctx, c, height, head); o.err != nil {
			failures = append(failures, fmt.Errorf("window %d: %w", number, o.err))
		}
		height = head
		fmt.Println(o.line(number))
		drawn.add(o)
		if lost := o.lost(); lost != nil {
			failures = append(failures, fmt.Errorf("window %d: %w", number, lost))
		}
		for i, f := range s.followers {
			line, held, err := f.line(ctx, number, i+1)
			if err != nil {
				failures = append(failures, fmt.Errorf("window %d, follower %d: %w", number, i+1, err))
			}
			followed = append(followed, line)
			drawn.addHeld(i+1, held)
		}
		if err := drawn.write(s.plot); err != nil {
			failures = append(failures, err)
			break
		}
	}
	stop()
	return errors.Join(append(failures, watches(), s.compare(ctx, c, followed), ctx.Err())...)
}

// watch monitors the followers until ctx ends. wait returns their errors.
func (s settings) watch(ctx context.Context, primary *client.Client) (wait func() error) {
	errs := make(chan error, len(s.followers))
	for i, f := range s.followers {
		go func() {
			err := f.watch(ctx, primary)
			if err != nil {
				err = fmt.Errorf("follower %d: %w", i+1, err)
			}
			errs <- err
		}()
	}
	return func() error {
		var all []error
		for range s.followers {
			all = append(all, <-errs)
		}
		return errors.Join(all...)
	}
}

// compare prints the lines of the followers and compares their chains with the primary's.
func (s settings) compare(ctx context.Context, primary *client.Client, lines []string) error {
	if len(s.followers) == 0 {
		return nil
	}
	fmt.Printf("\n%s\n%s\n\n", followHeader, strings.Join(lines, "\n"))
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	var failures []error
	for i, f := range s.followers {
		begun := time.Now()
		oldest, head, err := f.compare(ctx, primary)
		if err != nil {
			failures = append(failures, fmt.Errorf("follower %d: %w", i+1, err))
			continue
		}
		fmt.Printf(
			"follower %d has the primary's blocks %d to %d, compared within %v\n", i+1, oldest, head,
			time.Since(begun).Round(time.Second),
		)
	}
	return errors.Join(failures...)
}

// send starts each window once the previous one has been sent, and announces where its outcome will be.
func (s settings) send(ctx context.Context, c *client.Client, count int, outcomes chan<- chan outcome) {
	defer close(outcomes)
	next := s.prepare(ctx, c, 0)
	start := time.Now()
	for i := range count {
		w := next
		result := make(chan outcome, 1)
		outcomes <- result
		if w.err != nil {
			result <- outcome{err: w.err}
			return
		}
		go func() { result <- s.measure(ctx, w) }()
		if i+1 < count {
			next = s.prepare(ctx, c, i+1)
		}
		select {
		case <-time.After(time.Until(start.Add(time.Duration(i+1) * s.window))):
		case <-ctx.Done():
			return
		}
	}
}

// readKey reads a private key from a file.
func readKey(file string) (*crypto.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	bytes, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(bytes) != 32 {
		return nil, fmt.Errorf("%s: %d bytes, want 32 in hex: %w", file, len(bytes), err)
	}
	key, err := crypto.NewPrivateKey([32]byte(bytes))
	return &key, err
}

// prepare signs the transfers of a window. Three sets of senders alternate, so that a set's last transfers are
// included, and its nonces known, before it is used again.
func (s settings) prepare(ctx context.Context, c *client.Client, number int) window {
	w := window{plan: loadgen.Plan{
		Load: loadgen.Transfers, Connections: s.connections, FirstSender: number % 3 * s.senders, Senders: s.senders,
		PerSender: int(s.rate * s.window.Seconds() / float64(s.senders)),
	}}
	if w.target, w.err = loadgen.PrepareCairn(ctx, c, w.plan, s.treasury, func(string) {}); w.err == nil {
		w.calls, w.err = loadgen.Prepare(ctx, w.target, w.plan, nil)
	}
	return w
}

func (s settings) measure(ctx context.Context, w window) (o outcome) {
	o.report, o.err = loadgen.Run(ctx, w.target, w.plan, w.calls, loadgen.Options{
		URL: s.url, Batch: s.batch, Rate: s.rate, Settle: settleTime,
	})
	if o.err == nil {
		o.held, o.err = readHeld(ctx, s.metrics)
	}
	return o
}

// header is the header of the table with the lines of [outcome.line].
const header = "| window | included | request p50 / p99 ms | inclusion p50 / p99 ms | between blocks, most s | " +
	heldHeader + "\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"

func (o outcome) line(number int) string {
	r := o.report
	return fmt.Sprintf("| %d | %d | %.1f / %.1f | %.0f / %.0f | %.2f | %v", number, r.Inclusion.Included,
		r.Latency.P50, r.Latency.P99, r.Inclusion.Latency.P50, r.Inclusion.Latency.P99, o.longest, o.held)
}

// longestInterval returns the longest time between two consecutive blocks of a range of heights, in seconds.
func longestInterval(ctx context.Context, c *client.Client, from, to types.Height) (longest float64, err error) {
	var last uint64 // time of a block, in milliseconds
	for from <= to {
		items, err := c.Blocks(ctx, from, to, false)
		if err != nil || len(items) == 0 {
			return longest, fmt.Errorf("%d blocks from %d to %d: %w", len(items), from, to, err)
		}
		for _, item := range items {
			now := item.Block.TimestampMs
			if last > 0 {
				longest = max(longest, float64(now-last)/1000)
			}
			last = now
		}
		from += types.Height(len(items))
	}
	return longest, nil
}

// lost returns an error unless every transfer was accepted and is in a block.
func (o outcome) lost() error {
	if len(o.report.Errors) > 0 {
		e := o.report.Errors[0]
		return fmt.Errorf("%d calls were answered with %s: %s", e.Count, e.Code, e.Example)
	}
	if i := o.report.Inclusion; i.Included != i.Accepted {
		return fmt.Errorf("%d transfers were accepted and %d are in blocks", i.Accepted, i.Included)
	}
	return nil
}
