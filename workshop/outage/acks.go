package main

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	costBatch = 50 // transfers per request
	warmTime  = 3 * time.Second
)

// acks measures the time of an acknowledgement, and the processor time of a transfer, first in a cluster and then with
// a single producer on the same machine.
func (w *world) acks(ctx context.Context) error {
	if err := w.under(ctx, w.load, w.ackRate, 1, func(ctx context.Context) error {
		if err := wait(ctx, warmTime); err != nil {
			return err
		}
		w.load.forget()
		return wait(ctx, w.ackTime)
	}); err != nil {
		return err
	}
	w.load.mu.Lock()
	times := w.load.latencies
	w.load.mu.Unlock()
	w.print("| acknowledged, ms, at %.0f a second, one a request, asking all: p50, p99 (targets 5, 25) | %.1f, %.1f |",
		w.achieved, milliseconds(quantile(times, 0.5)), milliseconds(quantile(times, 0.99)))
	leader, err := w.leader(ctx)
	if err != nil {
		return err
	}
	processes := []*program.Process{leader.process}
	for _, m := range w.all() {
		if m != leader {
			processes = append(processes, m.process)
		}
	}
	defer func() { w.load.targets = w.all }()
	used, err := w.cost(ctx, w.load, leader, processes)
	if err != nil {
		return err
	}
	alone, err := w.alone(ctx)
	if err != nil {
		return err
	}
	w.print("| processor time a transfer, µs, at %.0f a second, %d a request to the leader: "+
		"leader, followers, a producer alone | %.1f, %.1f and %.1f, %.1f |",
		w.achieved, costBatch, used[0], used[1], used[2], alone)
	w.print("| leader against alone (target ≤ 1.25); follower, µs (target ≤ 16) | %.2f; %.1f |",
		used[0]/alone, max(used[1], used[2]))
	return w.check(ctx)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cost returns the processor time, in microseconds, that each process uses per transfer when all are sent to one
// member.
func (w *world) cost(ctx context.Context, l *load, to *member, processes []*program.Process) (
	each []float64, err error) {
	l.targets = func() []*member { return []*member{to} }
	w.watcher.resting.Store(true)
	defer w.watcher.resting.Store(false)
	return each, w.under(ctx, l, w.costRate, costBatch, func(ctx context.Context) error {
		if err := wait(ctx, warmTime); err != nil {
			return err
		}
		begun, first := make([]time.Duration, len(processes)), l.count()
		for i, p := range processes {
			if begun[i], err = p.CPU(); err != nil {
				return err
			}
		}
		if err := wait(ctx, w.ackTime); err != nil {
			return err
		}
		transfers := float64(l.count() - first)
		for i, p := range processes {
			used, err := p.CPU()
			if err != nil {
				return err
			}
			each = append(each, float64((used-begun[i]).Microseconds())/transfers)
		}
		return nil
	})
}

// alone returns the same for a producer without a cluster.
func (w *world) alone(ctx context.Context) (used float64, err error) {
	l := newLoad(len(w.load.payers), nil)
	solo := &cluster{binary: w.settings.binary, dir: w.dir, interval: w.interval, network: w.network, next: soloNumber}
	m, err := solo.found(l.accounts())
	if err != nil {
		return 0, err
	}
	defer m.client.Close()
	defer func() { err = errors.Join(err, solo.unmount()) }()
	if err := solo.start(ctx, m); err != nil {
		return 0, err
	}
	each, err := w.cost(ctx, l, m, []*program.Process{m.process})
	if err != nil {
		m.kill()
		return 0, err
	}
	return each[0], m.stop()
}

// soloNumber is the number of the single producer.
const soloNumber = 200
