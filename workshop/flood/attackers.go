package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// job is the work of a round's attackers. They are a process of their own: this program again, with -attackers. On
// another machine they would not compete with the node and its honest users for the processor. With -free the system
// therefore runs them only while nothing else wants to run (sched(7), SCHED_IDLE).
type job struct {
	Attacks    []string
	Addresses  int
	Together   bool
	Generation int
	Used       uint32 // source addresses that earlier rounds have used
	Node       program.Node
	Address    string
	Secured    bool
	Chain      chain
}

// spoils are the results of a job.
type spoils struct {
	counts
	Used  uint32        // source addresses used up to now
	Spent time.Duration // processor time of the attack
}

// attackers is the process of a round's attackers.
type attackers struct {
	command *exec.Cmd
	orders  io.WriteCloser
	reports *json.Decoder
}

// hire starts a process that prepares the round's attacks, and returns once it can begin.
func (r round) hire(s settings, n *node) (*attackers, error) {
	j := job{
		Addresses: r.addresses, Together: r.together, Used: addresses.Load(), Node: *n.Node, Address: n.address,
		Secured: n.secured, Chain: s.chain, Attacks: namesOf(r.attacks),
	}
	if r.together {
		j.Generation = 1
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arguments := slices.Concat([]string{self}, os.Args[1:], []string{"-attackers"})
	if s.free {
		arguments = append([]string{"chrt", "--idle", "0"}, arguments...)
	}
	a := &attackers{command: exec.Command(arguments[0], arguments[1:]...)}
	a.command.Stderr = os.Stderr
	output, err := a.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if a.orders, err = a.command.StdinPipe(); err != nil {
		return nil, err
	}
	a.reports = json.NewDecoder(output)
	if err := a.command.Start(); err != nil {
		return nil, err
	}
	var ready bool
	if err := errors.Join(json.NewEncoder(a.orders).Encode(j), a.reports.Decode(&ready)); err != nil {
		_, endErr := a.dismiss()
		return nil, fmt.Errorf("prepare: %w", errors.Join(err, endErr))
	}
	return a, nil
}

// begin begins the attack.
func (a *attackers) begin() error {
	_, err := a.orders.Write([]byte("true\n"))
	return err
}

// dismiss ends the attack, and the process.
func (a *attackers) dismiss() (s spoils, err error) {
	err = errors.Join(a.orders.Close(), a.reports.Decode(&s))
	return s, errors.Join(err, a.command.Wait())
}

// attack does the job that it reads: it prepares, reports that it is ready, and attacks from the next order until the
// orders end. Then it reports its spoils.
func (s settings) attack(ctx context.Context, orders io.Reader, reports io.Writer) error {
	in, out := json.NewDecoder(orders), json.NewEncoder(reports)
	var j job
	if err := in.Decode(&j); err != nil {
		return err
	}
	addresses.Store(j.Used)
	s.addresses, s.chain = j.Addresses, j.Chain
	n := &node{Node: &j.Node, address: j.Address, secured: j.Secured}
	t := &tally{counts: counts{Outcomes: map[string]int{}}}
	if j.Together {
		// With all attacks together, all connections are taken, so new ones are refused, and other attacks fill the
		// pool.
		t.lenient = []string{"HTTP 503", closed, poolFull}
		s.clients = max(1, s.clients/4)
	}
	var starts []func(context.Context, *node, *tally)
	for _, a := range s.attacks() {
		if !slices.Contains(j.Attacks, a.name) {
			continue
		}
		start, err := a.prepare(ctx, s, j.Generation)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		starts = append(starts, start)
	}
	begun := false
	if err := errors.Join(out.Encode(true), in.Decode(&begun)); err != nil {
		return err
	}
	before, err := used()
	if err != nil {
		return err
	}
	attacking, end := context.WithCancel(ctx)
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, orders) // only their end matters
		end()
	}()
	var working sync.WaitGroup
	for _, start := range starts {
		working.Go(func() { start(attacking, n, t) })
	}
	working.Wait()
	after, err := used()
	return errors.Join(err, out.Encode(spoils{t.counts, addresses.Load(), after - before}))
}

// used returns the processor time that this process has used.
func used() (time.Duration, error) {
	var own syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()), err
}
