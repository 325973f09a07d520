// Command growth measures the cost of a block against the size of the state and the number of transactions, and the
// time of a start against the size of the state. It also measures a node's memory at rest, queries of a token against
// the number of its transfers, full blocks of look-ups in a large state, and a block's proof against its writes. It
// prints Markdown tables to standard output, and writes plots as SVG.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/workshop/internal/plot"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// settings holds the flags.
type settings struct {
	binary, directory, plots string
	runs                     int
	sizes                    []int  // state sizes in leaves, ascending
	rest                     int    // size at which to measure a node's memory
	perBlock                 []int  // transactions per block, for the curve over block sizes
	blockSize                int    // transactions per block, for the curve over state sizes
	sustainedAt, sustained   int    // size at which to make consecutive blocks of updates, and their number
	transfers                []int  // numbers of a token's transfers at which to query it, ascending
	queries                  int    // number of each kind
	writes                   []int  // numbers of writes per proven block
	lookups                  int    // leaves of the state for full blocks of look-ups; 0: none
	state                    string // directory of that state; empty: temporary
}

func main() {
	s := settings{}
	sizes := flag.String("sizes", "10010,31623,100000,316228,1000000,3162278,8400000,10000000,31622777",
		"sizes of the state, in leaves, ascending; the genesis has the smallest")
	perBlock := flag.String("transactions", "100,316,1000,3162,10000,31623", "transactions in a block")
	flag.IntVar(&s.rest, "rest", 1_000_000,
		"size, one of -sizes, at which to measure memory at rest and blocks of several lengths")
	flag.IntVar(&s.blockSize, "block", 10_000, "transactions per block, for the measurements at each size")
	flag.IntVar(&s.sustainedAt, "sustained-at", 8_400_000,
		"size, one of -sizes, at which to make consecutive blocks of updates")
	flag.IntVar(&s.sustained, "sustained", 300, "number of these blocks")
	transfers := flag.String("transfers", "100000,1000000,10000000",
		"numbers of a token's transfers at which to query it, ascending; 10^7 take about 15 GB")
	flag.IntVar(&s.queries, "queries", 2_000, "queries of each kind about the token")
	writes := flag.String("writes", "", "writes of the proven blocks, such as 100,1000,10000,40000")
	flag.IntVar(&s.lookups, "lookups", 0,
		"leaves of the state for full blocks of look-ups, such as 8400000")
	flag.StringVar(&s.state, "lookups-dir", "", "directory of that state, kept for later runs; created if missing")
	flag.IntVar(&s.runs, "runs", 5, "number of runs; the median counts")
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "parent directory of the chain; 10^7.5 leaves take about 15 GB")
	flag.StringVar(&s.plots, "plots", "../docs", "directory of the plots")
	flag.Parse()
	program.Main("growth", func(ctx context.Context) error {
		if err := machine.HugePages(); err != nil { // as a node and a prover do
			return err
		}
		for list, values := range map[*string]*[]int{
			sizes: &s.sizes, perBlock: &s.perBlock, transfers: &s.transfers, writes: &s.writes,
		} {
			var err error
			if *values, err = numbers(*list); err != nil {
				return err
			}
		}
		return s.run(ctx)
	})
}

// run runs the selected measurements.
func (s settings) run(ctx context.Context) error {
	if len(s.sizes) > 0 {
		if err := measure(ctx, s); err != nil {
			return err
		}
	}
	if len(s.transfers) > 0 {
		if err := measureQueries(ctx, s); err != nil {
			return err
		}
	}
	if s.lookups > 0 {
		if err := measureLookups(ctx, s); err != nil {
			return err
		}
	}
	if len(s.writes) > 0 {
		return measureProofs(s)
	}
	return nil
}

// numbers parses a comma-separated list. An empty list skips a measurement.
func numbers(list string) (values []int, err error) {
	if list == "" {
		return nil, nil
	}
	for field := range strings.SplitSeq(list, ",") {
		value, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// result holds the measurements at one size of the state.
type result struct {
	leaves int
	crash  time.Duration // time of a start after a crash: of opening the store and rebuilding the tree
	start  time.Duration // time of a start after an orderly stop
	load   time.Duration // time after that start until all is in memory
	update phases        // of 10,000 updates: the run with the median total
	block  time.Duration // median for a block of transfers
	disk   uint64        // size of the database in bytes
	memory float64       // bytes per leaf of the open ledger, without the database cache
	steady *steady       // set at one size only
}

func measure(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-growth-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g, err := newGrown(filepath.Join(dir, "chain"))
	if err != nil {
		return err
	}
	if err := g.begin(); err != nil {
		return err
	}
	var results []result
	var lengths []plot.Point
	var atRest string
	for _, size := range s.sizes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(os.Stderr, "%d leaves\n", size)
		r, err := g.at(s, size)
		if err != nil {
			return fmt.Errorf("%d leaves: %w", size, err)
		}
		results = append(results, r)
		if size != s.rest {
			continue
		}
		if lengths, err = g.byLength(s); err != nil {
			return err
		}
		if atRest, err = memoryAtRest(ctx, s.binary, g.dir, dir); err != nil {
			return err
		}
	}
	return write(s, results, lengths, atRest)
}

// begin makes the genesis block.
func (g *grown) begin() error {
	o, err := g.open()
	if err != nil {
		return err
	}
	_, err = g.ledger(o, nil)
	return errors.Join(err, o.close())
}

// at grows the state to a size and measures there.
func (g *grown) at(s settings, size int) (result, error) {
	o, err := g.open()
	if err != nil {
		return result{}, err
	}
	r, err := g.updatesAt(s, o, size)
	if err = errors.Join(err, o.close()); err != nil {
		return r, err
	}
	if o, err = g.open(); err != nil {
		return r, err
	}
	o.settle()
	if err = o.close(); err != nil {
		return r, err
	}
	o, l, took, err := g.start()
	if err != nil {
		return r, err
	}
	r.crash = took
	if err = errors.Join(l.Close(), o.close()); err != nil {
		return r, err
	}
	before := heap()
	if o, l, r.start, err = g.start(); err != nil {
		return r, err
	}
	begun := time.Now()
	if err := l.Load(context.Background()); err != nil {
		return r, errors.Join(err, o.close())
	}
	r.load = time.Since(begun)
	r.memory = float64(heap()-before-o.db.Metrics().CacheBytes) / float64(l.TreeSize())
	var blocks []time.Duration
	random := rand.New(rand.NewPCG(2, uint64(size)))
	for range s.runs {
		var b *batch
		var took time.Duration
		if b, err = g.transfers(o, random, s.blockSize); err == nil {
			took, err = g.build(l, b)
		}
		if err != nil {
			break
		}
		blocks = append(blocks, took)
	}
	if err = errors.Join(err, o.close()); err != nil {
		return r, err
	}
	r.block = quantile(blocks, 0.5, itself)
	return r, nil
}

// start opens the chain and its ledger, as a node does before it answers.
func (g *grown) start() (*opened, *ledger.Ledger, time.Duration, error) {
	begun := time.Now()
	o, err := g.open()
	if err != nil {
		return nil, nil, 0, err
	}
	l, err := g.started(o, nil)
	if err != nil {
		return nil, nil, 0, errors.Join(err, o.close())
	}
	return o, l, time.Since(begun), nil
}

// heap returns the bytes of heap in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// updatesAt grows the state to a size and measures updates, from the new values to the synced disk.
func (g *grown) updatesAt(s settings, o *opened, size int) (result, error) {
	t, err := ledger.LoadTree(o.store)
	if err != nil {
		return result{}, err
	}
	if err := g.grow(o, t, size); err != nil {
		return result{}, err
	}
	r := result{leaves: t.Len()}
	random := rand.New(rand.NewPCG(1, uint64(size)))
	took, err := g.update(o, t, random, s.runs, o.settle)
	if err != nil {
		return r, err
	}
	r.update = quantile(took, 0.5, phases.all)
	if size == s.sustainedAt && s.sustained > 0 {
		r.steady, err = g.steady(o, t, random, s.sustained)
	}
	r.disk = o.db.Metrics().DiskBytes
	return r, err
}

// update makes blocks of updates, and calls before ahead of each.
func (g *grown) update(
	o *opened, t *tree.Tree, random *rand.Rand, blocks int, before func(),
) (took []phases, err error) {
	for range blocks {
		accesses, err := g.updates(o, random, updatesPerBlock)
		if err != nil {
			return nil, err
		}
		before()
		each, err := o.appendWrites(t, accesses)
		if err != nil {
			return nil, err
		}
		took = append(took, each)
	}
	return took, nil
}

// settle waits until the database has compacted the data of growing. With one block per second there is time for that;
// blocks without pauses are measured by steady.
func (o *opened) settle() {
	const poll, calm = 100 * time.Millisecond, 5
	for quiet := 0; quiet < calm; quiet++ {
		<-time.After(poll)
		if o.db.Metrics().CompactionsRunning > 0 {
			quiet = 0
		}
	}
}

// byLength measures blocks of several lengths.
func (g *grown) byLength(s settings) (points []plot.Point, err error) {
	o, err := g.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	l, err := g.ledger(o, nil)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(3, 0))
	for _, length := range s.perBlock {
		var took []time.Duration
		for range s.runs {
			b, err := g.transfers(o, random, length)
			if err != nil {
				return nil, err
			}
			each, err := g.build(l, b)
			if err != nil {
				return nil, err
			}
			took = append(took, each)
		}
		points = append(points, plot.Point{X: float64(length), Y: milliseconds(quantile(took, 0.5, itself))})
	}
	return points, nil
}

// quantile returns the element at the quantile q of all, ordered by the durations that by returns.
func quantile[T any](all []T, q float64, by func(T) time.Duration) T {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(by(a), by(b)) })
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func itself(d time.Duration) time.Duration { return d }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
