package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// electionTime is the time after a kill in which no new leader can have made a block, as members first wait half a
	// second for the leader. A block that arrives sooner is the old leader's.
	electionTime = 400 * time.Millisecond
	// settleTime is the pause between recovery and the next kill.
	settleTime = time.Second
)

// kills kills the leader repeatedly, and measures the time to the next released block.
func (w *world) kills(ctx context.Context) error {
	var waits []time.Duration
	end := time.Now().Add(w.killTime)
	err := w.under(ctx, w.load, w.rate, w.batch, func(ctx context.Context) error {
		for i := 0; i < w.killCount && time.Now().Before(end); i++ {
			if err := wait(ctx, settleTime); err != nil {
				return err
			}
			leader, err := w.leader(ctx)
			if err != nil {
				return err
			}
			killed := time.Now()
			leader.kill()
			next, err := w.watcher.next(ctx, killed.Add(electionTime))
			if err != nil {
				return err
			}
			waits = append(waits, next.Sub(killed))
			if err := w.start(ctx, leader); err != nil {
				return err
			}
			if err := w.ready(ctx, leader); err != nil {
				return err
			}
		}
		return nil
	})
	count := len(waits)
	w.print("| kill -9 of the leader, times, at %d transfers a second, block time %s | %d |", w.rate, w.blockTime, count)
	p50, p99, most := quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 1)
	w.print("| until the next released block, s: p50, p99, most (targets 1.0, 2.0) | %.2f, %.2f, %.2f |",
		p50.Seconds(), p99.Seconds(), most.Seconds())
	w.print("| transfers acknowledged meanwhile a second | %.0f |", w.achieved)
	return errors.Join(err, w.check(ctx))
}

// under calls do while the payers send.
func (w *world) under(ctx context.Context, l *load, rate, batch int, do func(context.Context) error) error {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	l.forget()
	before, begun := l.count(), time.Now()
	go func() {
		err := l.run(loading, rate, batch)
		if err != nil {
			stop() // do makes no sense without the load
		}
		ended <- err
	}()
	err := do(loading)
	w.achieved = float64(l.count()-before) / time.Since(begun).Seconds()
	stop()
	return errors.Join(<-ended, err)
}

// check checks that all members have the acknowledged transfers, one header per height, and valid block times.
func (w *world) check(ctx context.Context) error {
	var broken []error
	for _, m := range w.all() {
		lost, err := w.load.lost(ctx, m)
		if err != nil {
			return err
		}
		if lost > 0 {
			broken = append(broken, fmt.Errorf("%s lacks %d transfers that were acknowledged", m.name, lost))
		}
	}
	lacking := len(broken)
	double, early, err := w.watcher.wrong(ctx, w.cluster)
	if err != nil {
		return err
	}
	for _, block := range slices.Concat(double, early) {
		broken = append(broken, errors.New(block))
	}
	w.print("| acknowledged so far; of these lost; heights of %d with two headers, with a wrong time | %d; %d; %d, %d |",
		w.watcher.head(), w.load.count(), lacking, len(double), len(early))
	return errors.Join(broken...)
}

// wait waits for a duration.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
