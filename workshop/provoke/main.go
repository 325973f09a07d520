// Command provoke checks that the alert rules of this directory fire. For each rule it runs a node and brings about the
// rule's cause: it kills the node, fills its disk or sends it invalid signatures. A Prometheus scrapes the node with
// the shipped rules, whose durations are divided by a factor. The alert must fire, and must resolve after the cause is
// gone.
//
// It needs Linux, Prometheus, and, for causes that concern the disk, root for a separate file system.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// settings holds the flags.
type settings struct {
	program, prometheus, rules, only string
	factor                           float64
	patience                         time.Duration
	// first of twelve ports: the node's JSON-RPC and metrics, Prometheus, those of the followed primary, those of two
	// cluster members, and the links of three
	firstPort int
}

func main() {
	var s settings
	flag.StringVar(&s.program, "program", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.prometheus, "prometheus", "prometheus", "Prometheus' binary")
	flag.StringVar(&s.rules, "rules", "../deploy/alerts.yml", "file of alert rules")
	flag.StringVar(&s.only, "only", "", "regular expression of the alerts to provoke")
	flag.Float64Var(&s.factor, "factor", 60, "by which the rules' durations are divided")
	flag.DurationVar(
		&s.patience, "patience", 3*time.Minute, "longest wait for an alert to fire, and again for it to end",
	)
	flag.IntVar(&s.firstPort, "port", 21400, "port of the node. The following ports are for its metrics, "+
		"Prometheus, a primary that the node follows (two), and members of its cluster (seven)")
	flag.Parse()
	program.Main("provoke", func(ctx context.Context) error { return run(ctx, s, os.Stdout) })
}

// run provokes the selected alerts in sequence, and prints a table line for each. It keeps the logs of the programs for
// the analysis of a failure.
func run(ctx context.Context, s settings, table io.Writer) error {
	chosen, err := regexp.Compile(s.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cairn-provoke-")
	if err != nil {
		return err
	}
	p, err := startPrometheus(ctx, s, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(table, "durations divided by %g, logs in %s\n\n", s.factor, dir)
	fmt.Fprintln(table, "| alert | cause | fires after | resolved after | also fired |\n|---|---|---:|---:|---|")
	var failed []error
	for _, c := range causes {
		if ctx.Err() != nil || !chosen.MatchString(c.alert) {
			continue
		}
		o, err := c.try(ctx, s, p, filepath.Join(dir, c.alert))
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.alert, err))
			fmt.Fprintf(
				table, "| %s | %s | FAILED: %s | | %s |\n", c.alert, c.text,
				strings.Join(strings.Fields(err.Error()), " "), strings.Join(o.others, ", "),
			)
			continue
		}
		fmt.Fprintf(
			table, "| %s | %s | %s | %s | %s |\n", c.alert, c.text, seconds(o.fired), seconds(o.resolved),
			strings.Join(o.others, ", "),
		)
	}
	return errors.Join(append(failed, ctx.Err(), p.process.Stop())...)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// outcome is the outcome of provoking an alert.
type outcome struct {
	fired, resolved time.Duration // time since the beginning and the end of the cause
	others          []string      // other alerts that fired
}

// try brings about a cause on a new node until its alert fires, and removes the cause until the alert resolves.
func (c cause) try(ctx context.Context, s settings, p *prometheus, dir string) (o outcome, err error) {
	st, err := newStage(ctx, s, c, dir)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	before, others := map[string]string{}, map[string]bool{}
	if err := p.await(ctx, s.patience, nil, func(alerts map[string]string) bool {
		before = alerts
		return alerts[c.alert] == ""
	}); err != nil {
		return o, fmt.Errorf("before the cause: %w", err)
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, st); err != nil {
			return o, fmt.Errorf("prepare: %w", err)
		}
	}
	bringing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	begun := time.Now()
	go func() {
		ended <- c.bring(bringing, st)
		close(ended)
	}()
	err = p.await(ctx, s.patience, ended, func(alerts map[string]string) bool {
		for alert, state := range alerts {
			if state == firing && alert != c.alert && before[alert] == "" {
				others[alert] = true
			}
		}
		return alerts[c.alert] == firing
	})
	o.fired = time.Since(begun)
	stop()
	err = errors.Join(err, <-ended) // even after a failure, as it restores what it removed
	o.others = slices.Sorted(maps.Keys(others))
	if err != nil {
		return o, err
	}
	gone := time.Now()
	err = p.await(ctx, s.patience, nil, func(alerts map[string]string) bool { return alerts[c.alert] == "" })
	o.resolved = time.Since(gone)
	return o, err
}
