package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// mostBlocks is the number of blocks within which an honest transfer must be included.
	mostBlocks = 3
	// The longest times without a block, in block intervals: under any attack, and under one with free work.
	latestBlock, latestFreely = 3, 1.5
	// laterRead bounds the increase of the 99th percentile of honest reads under an attack with free work.
	laterRead = 10 * time.Millisecond
	// abandoned is the number of block intervals without a block after which a round ends.
	abandoned = 60
	// settleTime is the time for a node to finish the requests of attackers that have left: more than the 30 s that it
	// allows a request.
	settleTime  = time.Minute
	samplePause = 100 * time.Millisecond
)

// round is a period of attacks.
type round struct {
	name      string
	attacks   []attack
	together  bool // all at once, after each had its own round
	addresses int  // number of source addresses of attacks with free work
}

// result is the result of a round.
type result struct {
	Attack            string         `json:"attack"`
	Requests          int            `json:"requests"`
	RequestsPerSecond float64        `json:"requestsPerSecond"`
	Outcomes          map[string]int `json:"outcomes"`
	Wrong             int            `json:"wrong"`
	HonestIncluded    int            `json:"honestIncluded"`
	HonestBlocks      uint64         `json:"honestBlocksMax"`
	HonestP50         float64        `json:"honestP50Seconds"`
	HonestP99         float64        `json:"honestP99Seconds"`
	Reads             int            `json:"reads"`
	ReadP50           float64        `json:"readP50Seconds"`
	ReadP99           float64        `json:"readP99Seconds"`
	Blocks            uint64         `json:"blocks"`
	BlockInterval     float64        `json:"blockIntervalMaxSeconds"`
	MemoryMax         uint64         `json:"memoryMaxBytes"`
	MemoryAfter       uint64         `json:"memoryAfterBytes"`
	Goroutines        int            `json:"goroutinesMax"`
	Files             int            `json:"filesMax"`
	Pending           int            `json:"pendingMax"`
	NodeCores         float64        `json:"nodeCores"`
	AttackerCores     float64        `json:"attackerCores"`
	Violations        []string       `json:"violations"`
}

// watcher samples the node during a round.
type watcher struct {
	head     uint64
	interval time.Duration // longest time without a new block
	most     sample        // maximum of each number

	err, profileErr error
}

// watch samples the node until ctx ends.
func (w *watcher) watch(ctx context.Context, n *node) {
	pause := time.NewTicker(samplePause)
	defer pause.Stop()
	last := time.Now()
	for {
		now, err := n.sample(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.err = errors.Join(w.err, err)
			return
		}
		w.interval = max(w.interval, time.Since(last))
		if now.height > w.head {
			w.head = now.height
			last = time.Now()
		}
		w.most.goroutines, w.most.files = max(w.most.goroutines, now.goroutines), max(w.most.files, now.files)
		w.most.pending = max(w.most.pending, now.pending)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// awaitBlocks waits for a number of new blocks.
func awaitBlocks(ctx context.Context, s settings, n *node, count uint64) error {
	first, err := n.sample(ctx)
	if err != nil {
		return err
	}
	pause := time.NewTicker(samplePause)
	defer pause.Stop()
	for seen, last := first.height, time.Now(); seen < first.height+count; {
		select {
		case <-pause.C:
		case <-n.Ended():
			return fmt.Errorf("the node: %w", n.EndedEarly())
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := n.sample(ctx)
		if err != nil {
			return err
		}
		if now.height > seen {
			seen, last = now.height, time.Now()
		}
		if time.Since(last) > abandoned*s.blockTime {
			return fmt.Errorf("there was no block for %s", time.Since(last).Round(time.Second))
		}
	}
	return nil
}

// settle waits until the node has no connections.
func (n *node) settle(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	pause := time.NewTicker(samplePause)
	defer pause.Stop()
	for {
		now, err := n.sample(ctx)
		if err != nil || now.connections == 0 {
			return now, err
		}
		select {
		case <-pause.C:
		case <-n.Ended():
			return now, fmt.Errorf("the node: %w", n.EndedEarly())
		case <-ctx.Done():
			return now, fmt.Errorf("%d connections are still open after %s", now.connections, settleTime)
		}
	}
}

// run attacks the node for the duration of a round while honest users work.
func (r round) run(ctx context.Context, s settings, n *node) (result, error) {
	attackers, err := r.hire(s, n)
	if err != nil {
		return result{}, err
	}
	defer func() { _, _ = attackers.dismiss() }() // after an error
	if err := errors.Join(n.ResetPeak(), awaitBlocks(ctx, s, n, 1)); err != nil {
		return result{}, err
	}
	watching, endWatch := context.WithCancel(ctx)
	defer endWatch()
	var honest, watchers sync.WaitGroup
	before, err := n.sample(ctx)
	if err != nil {
		return result{}, err
	}
	nodeUsed, err := n.CPU()
	if err != nil {
		return result{}, err
	}
	w, users, balances, enough := &watcher{head: before.height}, &crowd{}, &reader{}, make(chan struct{})
	begin := time.Now()
	watchers.Go(func() { w.watch(watching, n) })
	if s.profiles != "" {
		watchers.Go(func() { w.profileErr = n.profile(watching, s, r.name) })
	}
	if err := attackers.begin(); err != nil {
		return result{}, err
	}
	honest.Go(func() { users.work(ctx, s, n, enough) })
	honest.Go(func() { balances.work(ctx, n, enough) })
	err = awaitBlocks(ctx, s, n, uint64((s.duration+s.blockTime-1)/s.blockTime))
	close(enough)
	honest.Wait()
	took := time.Since(begin)
	nodeUsedThen, usageErr := n.CPU()
	t, attackErr := attackers.dismiss()
	endWatch()
	watchers.Wait()
	if err := errors.Join(err, usageErr, attackErr, w.err, w.profileErr); err != nil {
		return result{}, err
	}
	after, unsettled := n.settle(ctx)
	peak, err := n.Peak()
	if err != nil {
		return result{}, err
	}
	got := result{
		Attack:            r.name,
		Requests:          t.Requests,
		RequestsPerSecond: float64(t.Requests) / took.Seconds(),
		Outcomes:          t.Outcomes,
		Wrong:             t.Wrong,
		HonestIncluded:    len(users.included),
		Blocks:            w.head - before.height,
		BlockInterval:     w.interval.Seconds(),
		MemoryMax:         peak,
		MemoryAfter:       after.residentBytes,
		Goroutines:        w.most.goroutines,
		Files:             w.most.files,
		Pending:           w.most.pending,
		NodeCores:         (nodeUsedThen - nodeUsed).Seconds() / took.Seconds(),
		AttackerCores:     t.Spent.Seconds() / took.Seconds(),
	}
	got.honest(users.included)
	got.read(balances.took)
	got.judge(s, t.counts, users, balances)
	if unsettled != nil {
		got.Violations = append(got.Violations, unsettled.Error())
	}
	return got, nil
}

func (r *result) honest(included []inclusion) {
	if len(included) == 0 {
		return
	}
	slices.SortFunc(included, func(a, b inclusion) int { return int(a.took - b.took) })
	r.HonestP50 = included[len(included)/2].took.Seconds()
	r.HonestP99 = included[len(included)*99/100].took.Seconds()
	for _, i := range included {
		r.HonestBlocks = max(r.HonestBlocks, i.blocks)
	}
}

func (r *result) read(took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	r.Reads = len(took)
	r.ReadP50, r.ReadP99 = took[len(took)/2].Seconds(), took[len(took)*99/100].Seconds()
}

// judge checks a result against the rules.
func (r *result) judge(s settings, t counts, users *crowd, balances *reader) {
	broken := func(format string, values ...any) {
		r.Violations = append(r.Violations, fmt.Sprintf(format, values...))
	}
	if t.Wrong > 0 {
		broken("%d wrong outcomes, such as:", t.Wrong)
		r.Violations = append(r.Violations, t.Examples...)
	}
	if len(users.errs) > 0 {
		broken("%d honest transfers failed, one so: %v", len(users.errs), users.errs[0])
	}
	if len(users.included) == 0 {
		broken("no honest transfer was included")
	}
	if len(balances.errs) > 0 {
		broken("%d honest reads failed, one so: %v", len(balances.errs), balances.errs[0])
	}
	if s.timing {
		r.judgeTime(s, broken)
	}
	if most := s.memoryMiB<<20 + s.calm.MemoryMax; r.MemoryMax > most {
		broken("the node took %d MiB of memory, more than %d", r.MemoryMax>>20, most>>20)
	}
}

// judgeTime checks a result against the rules about time.
func (r *result) judgeTime(s settings, broken func(format string, values ...any)) {
	if r.HonestBlocks > mostBlocks {
		broken("an honest transfer was included after %d blocks", r.HonestBlocks)
	}
	intervals := float64(latestBlock)
	if s.free {
		intervals = latestFreely
		if most := s.calm.ReadP99 + laterRead.Seconds(); s.calm.Reads > 0 && r.ReadP99 > most {
			broken("1 %% of honest reads took more than %.0f ms, more than %.0f", r.ReadP99*1e3, most*1e3)
		}
	}
	if most := intervals * s.blockTime.Seconds(); r.BlockInterval > most {
		broken("there was no block for %.2f s, more than %.1f", r.BlockInterval, most)
	}
}
