// Command flood attacks a Cairn node while honest users work with it: first with one attack after the other, then with
// all at once. It checks four rules: every request gets a correct response, each honest transaction is included within
// three blocks, blocks come on time, and memory stays below a stated bound. It prints a Markdown table, or JSON, and
// exits with 1 if a rule is violated. There are no rules for speed.
//
// The node is the real program with its default settings, in a process with its own data directory. All connections
// come from addresses in 127.0.0.0/8, a range for each attack and another for the honest users. The node's limits on
// rate and connections do not apply to loopback addresses, so each attack stands for one from so many addresses that
// these limits are ineffective. One attack tests the limits, through addresses named by a trusted proxy. It needs
// Linux.
//
// With -free it attacks with work that costs the client nothing, on a chain that it first fills with full blocks and
// events. All requests then come through a trusted proxy, so that the limits apply to attackers and honest users, and
// each attack is repeated with several numbers of addresses. The rules are stricter: they cover honest reads, late
// blocks, and memory above that of the round without an attack. The node restarts for each round.
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
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// settings holds the flags.
type settings struct {
	binary, directory string
	blockTime         time.Duration
	duration          time.Duration // of each attack
	honest            int           // number of honest users
	clients           int           // connections of an attack that sends after each response
	idle              int           // number of idle connections
	stock             int           // number of transactions signed for each attack that needs valid ones
	pool              int           // number of transactions signed to fill the pool
	rateLimit         uint64
	memoryMiB         uint64 // memory limit of the node
	quiet             bool   // whether to begin with a round without attacks
	together          bool   // whether to end with all attacks at once
	timing            bool   // whether late blocks and late inclusion violate a rule
	profiles          string // directory for profiles of the node; empty: none

	free          bool // attack with work that costs the client nothing
	transfers     int  // transfers of the chain with free
	tls           bool
	keep          string // directory of a filled chain that remains; empty: none
	addressCounts []int
	addresses     int    // of the current round, from addressCounts
	chain         chain  // the filled chain
	calm          result // result of the round without an attack
}

func main() {
	s := settings{}
	names := flag.String(
		"attacks",
		"all",
		"attacks that come one after the other, separated by commas: "+strings.Join(namesOf(attacks()), " ")+", with -free "+
			strings.Join(namesOf(freeAttacks()), " ")+"; all or none",
	)
	addresses := flag.String(
		"addresses", "1,8,64", "with -free: from how many addresses each attack comes, one after the other",
	)
	asJSON := flag.Bool("json", false, "write JSON instead of a table")
	flag.StringVar(&s.binary, "cairn", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.directory, "dir", os.TempDir(), "where the node's data directory is made")
	flag.DurationVar(&s.blockTime, "block-time", time.Second, "time between blocks")
	flag.DurationVar(&s.duration, "duration", 20*time.Second, "how long each attack goes on, rounded up to whole blocks")
	flag.IntVar(&s.honest, "honest", 16, "honest users, each of whom sends a transfer when the last one is included")
	flag.IntVar(&s.clients, "clients", 16, "connections of each attack that sends as fast as it is answered")
	flag.IntVar(&s.idle, "idle", 10_500, "idle connections; the node takes 10,000 connections in all")
	flag.IntVar(&s.stock, "stock", 100_000, "transactions that are signed for each attack which needs valid ones")
	flag.IntVar(&s.pool, "pool", 204_800, "transactions that are signed to fill the pool; it takes 200,000")
	flag.Uint64Var(
		&s.memoryMiB, "memory", 0,
		"MiB of memory that the node may take, with -free more than without an attack; 0: 4096, with -free 1024",
	)
	flag.BoolVar(&s.free, "free", false, "attack with work that costs the client nothing, on a chain that is filled first")
	flag.IntVar(&s.transfers, "transfers", 800_000, "with -free: transfers that are made first, in full blocks")
	flag.StringVar(&s.keep, "keep", "", "with -free: directory in which the filled chain remains, for use in later runs")
	flag.BoolVar(&s.tls, "tls", false, "with -free: the node speaks TLS")
	flag.StringVar(&s.profiles, "profiles", "", "directory for CPU and heap profiles and an execution trace of the node in each round")
	flag.Uint64Var(&s.rateLimit, "rate-limit", 200, "calls a second that the node allows an address")
	flag.BoolVar(&s.quiet, "quiet", true, "begin with a round without an attack")
	flag.BoolVar(&s.together, "together", true, "end with all attacks at once")
	flag.BoolVar(
		&s.timing, "timing", true, "hold the node to the rules about time; false where other programs keep the machine busy",
	)
	attacker := flag.Bool("attackers", false, "attack as standard input says; the program starts itself so")
	flag.Parse()
	program.Main("flood", func(ctx context.Context) error {
		if *attacker {
			return s.attack(ctx, os.Stdin, os.Stdout)
		}
		rounds, err := s.complete(*names, *addresses)
		if err != nil {
			return err
		}
		results, err := flood(ctx, s, rounds, os.Stderr)
		return errors.Join(err, write(os.Stdout, results, *asJSON))
	})
}

// attacks returns all attacks of the settings.
func (s *settings) attacks() []attack {
	if s.free {
		return freeAttacks()
	}
	return attacks()
}

// complete completes the settings, and makes the rounds for lists of attacks and of numbers of addresses.
func (s *settings) complete(names, addresses string) (rounds []round, err error) {
	all, memory := s.attacks(), uint64(4096)
	s.addressCounts = []int{1}
	if s.free {
		memory, s.addressCounts = 1024, nil
		for text := range strings.SplitSeq(addresses, ",") {
			count, err := strconv.Atoi(text)
			if err != nil || count < 1 || count > mostAddresses {
				return nil, fmt.Errorf("an attack comes from 1 to %d addresses, not %s", mostAddresses, text)
			}
			s.addressCounts = append(s.addressCounts, count)
		}
	}
	if s.memoryMiB == 0 {
		s.memoryMiB = memory
	}
	chosen, err := choose(all, names)
	if err != nil {
		return nil, err
	}
	if s.quiet {
		rounds = append(rounds, round{name: "none"})
	}
	add := func(r round) {
		for _, r.addresses = range s.addressCounts {
			each := r
			if s.free {
				each.name = fmt.Sprintf("%s × %d", r.name, r.addresses)
			}
			rounds = append(rounds, each)
		}
	}
	for _, a := range chosen {
		add(round{name: a.name, attacks: []attack{a}})
	}
	if s.together {
		add(round{name: "all at once", attacks: all, together: !s.free})
	}
	return rounds, nil
}

// flood starts a node and runs the rounds against it.
func flood(ctx context.Context, s settings, rounds []round, progress io.Writer) (results []result, err error) {
	node, err := startNode(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, node.stop())
	}()
	if s.free {
		if s.tls {
			if err := node.makeCertificate(); err != nil {
				return nil, err
			}
		}
		if s.chain, err = node.filled(ctx, s, func(text string) { fmt.Fprintln(progress, text) }); err != nil {
			return nil, err
		}
	}
	for _, r := range rounds {
		fmt.Fprintf(progress, "%s\n", r.name)
		if s.free {
			// Restart, so that memory is free of the effects of earlier rounds.
			arguments := []string{"--block-time", s.blockTime.String(), "--trusted-proxy", everyone,
				"--snapshot-interval", "1000000000"} // it serves the one that is there
			if s.tls {
				arguments = append(arguments, "--tls-cert", node.certificate(), "--tls-key", node.key())
			}
			if err := node.restart(ctx, arguments...); err != nil {
				return results, fmt.Errorf("restart the node: %w", err)
			}
		}
		got, err := r.run(ctx, s, node)
		switch {
		case err == nil:
		case s.free && ctx.Err() == nil && len(r.attacks) > 0: // the remaining rounds can still show something
			got = result{Attack: r.name, Violations: []string{err.Error()}}
			node.Kill()
		default:
			return results, fmt.Errorf("%s: %w", r.name, err)
		}
		for _, v := range got.Violations {
			fmt.Fprintf(progress, "  broken: %s\n", v)
		}
		results = append(results, got)
		if s.free && len(r.attacks) == 0 {
			s.calm = got
		}
	}
	return results, nil
}

// write writes the results. It returns an error if a rule was violated.
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
