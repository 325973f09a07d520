// Command outage runs three members of a cluster, with the real program in separate network namespaces, sends transfers
// to them, and subjects them to failures. It fails if an acknowledged transfer is not in the chain or a height has two
// headers, and prints the times that results.md compares with targets. Its parts are:
//
//	kills    kill the leader repeatedly; measure the time until the next block
//	acks     measure the time of an acknowledgement, and the processor time of a transfer
//	changes  replace a lost disk, restart members one by one, add one from far behind; measure the gaps
//	faults   kills, stops, cuts, slow and full disks and wrong clocks at random, while clients use a contract;
//	         check that the contract is linearizable
//	promote  hand over production to a single node with its own key; check that nothing is lost
//
// It needs Linux and root, and uses only its own network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

func main() {
	var s settings
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "parent of the data directories")
	flag.StringVar(&s.parts, "parts", "kills,acks,changes,faults,promote", "parts to run, in order")
	flag.StringVar(&s.blockTime, "block-time", "200ms", "time between blocks")
	flag.IntVar(&s.rate, "rate", 2000, "transfers per second")
	flag.IntVar(&s.batch, "batch", 10, "transfers per request")
	flag.IntVar(&s.killCount, "kills", 200, "number of times to kill the leader")
	flag.DurationVar(&s.killTime, "kill-time", time.Hour, "time after which the kills end")
	flag.DurationVar(&s.ackTime, "ack-time", 30*time.Second, "duration of each measurement of acknowledgements and processor time")
	flag.IntVar(&s.ackRate, "ack-rate", 1000, "transfers per second for the acknowledgements, one per request")
	flag.IntVar(&s.costRate, "cost-rate", 4000, "transfers per second for the processor time")
	flag.IntVar(&s.behind, "behind", 100_000, "number of blocks by which the joining member is behind")
	flag.DurationVar(&s.faultTime, "fault-time", time.Hour, "duration of the faults")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the faults")
	flag.StringVar(&s.counter, "counter", "../contracts/wasm/counter.wasm", "compiled counter contract")
	flag.StringVar(&s.others, "send-to", "", "run no parts; send to these nodes (comma-separated URLs) until an interrupt, and print lost transfers")
	accounts := flag.Bool("accounts", false, "run no parts; print the arguments of `cairn init` that fund the senders of -send-to")
	flag.Parse()
	switch {
	case *accounts:
		s.accounts()
	case s.others != "":
		program.Main("outage", s.sendToOthers)
	default:
		program.Main("outage", s.run)
	}
}

type settings struct {
	binary, directory, parts, blockTime, counter, others string

	rate, batch, killCount, ackRate, costRate, behind int
	killTime, ackTime, faultTime                      time.Duration
	seed                                              uint64
}

// payers is the number of payers: enough for a request of each part.
const payers = 2000

// world is the cluster with its load and its watcher.
type world struct {
	settings
	*cluster
	load     *load
	watcher  *watcher
	random   *rand.Rand // of the faults
	achieved float64    // acknowledged transfers per second of the latest load
}

// print prints a line of the results.
func (w *world) print(format string, values ...any) { fmt.Printf(format+"\n", values...) }

// run starts the cluster and runs the parts.
func (s settings) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-outage-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nthe logs are in %s", err, dir)
			return
		}
		err = os.RemoveAll(dir)
	}()
	n, err := newNetwork()
	if err != nil {
		return errors.Join(err, n.remove())
	}
	defer func() { err = errors.Join(err, n.remove()) }()
	members := &cluster{binary: s.binary, dir: dir, interval: s.blockTime, network: n}
	members.ownDisks = strings.Contains(s.parts, "faults")
	w := &world{settings: s, cluster: members, watcher: newWatcher(), random: rand.New(rand.NewPCG(s.seed, 0))}
	w.load = newLoad(payers, w.all)
	watching, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		w.watcher.running.Wait()
		err = errors.Join(err, w.stop(), w.unmount())
	}()
	first, err := w.found(append(w.load.accounts(), callers()...))
	if err != nil {
		return err
	}
	if err := w.lengthen(ctx, first); err != nil {
		return err
	}
	w.onJoin = func(m *member) { w.watcher.follow(watching, m) }
	if err := w.begin(ctx, first, 2); err != nil {
		return err
	}
	parts := map[string]func(context.Context) error{
		"kills": w.kills, "acks": w.acks, "changes": w.changes, "faults": w.faults, "promote": w.promote,
	}
	w.print("| | |\n|---|---|")
	var broken []error
	for part := range strings.SplitSeq(s.parts, ",") {
		do := parts[part]
		if do == nil {
			return fmt.Errorf("there is no part %q", part)
		}
		if err := do(ctx); err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", part, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(broken...)
}
