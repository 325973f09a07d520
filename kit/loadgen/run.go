package loadgen

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"sync"
	"time"
)

// Options configures a run of a prepared load.
type Options struct {
	URL      string        // URL of the node's JSON-RPC, http or https
	Token    string        // bearer token; empty for none
	Batch    int           // calls per request; 1 sends single calls
	Rate     float64       // calls per second of an open loop; 0 selects a closed loop
	Duration time.Duration // maximum sending time; 0 sends everything
	Settle   time.Duration // maximum wait for inclusion after the last response

	TLS        *tls.Config // for https URLs; nil selects the default
	Audience   Audience    // for the load Subscribers
	MetricsURL string      // URL of the node's metrics, reported with an audience; empty for none
	// Progress, if not nil, is called about twice a second.
	Progress func(Progress)
}

// progressInterval is the interval between calls of Options.Progress.
const progressInterval = 500 * time.Millisecond

// Progress is the progress of a run.
type Progress struct {
	Elapsed  time.Duration
	Done     int64 // successful calls
	Failed   int64 // errors
	Included int64 // transactions in blocks, known once everything is sent
	Settling bool  // everything is sent
}

// Run sends calls and reports on them. It sends each element of queues in order on a connection of its own. If ctx
// ends, Run stops early and reports the measurements so far.
func Run(ctx context.Context, target Target, plan Plan, queues [][]Call, o Options) (Report, error) {
	node, err := url.Parse(o.URL)
	if err != nil {
		return Report{}, err
	}
	if node.Scheme != "http" && node.Scheme != "https" || node.Host == "" {
		return Report{}, fmt.Errorf("%q is not an http or https URL", o.URL)
	}
	if o.Batch < 1 {
		return Report{}, fmt.Errorf("a request has at least 1 call, not %d", o.Batch)
	}
	if plan.Load.Repeats() && o.Duration <= 0 {
		return Report{}, fmt.Errorf("the load %s needs a duration of more than 0", plan.Load)
	}
	r := newMeasurement(target, plan, queues, o, node)
	if plan.Load != Subscribers {
		return r.do(ctx)
	}
	if err := o.Audience.Check(); err != nil {
		return Report{}, err
	}
	a, err := gather(ctx, target, o, dialer{node, o.TLS})
	if err != nil {
		return Report{}, err
	}
	report, err := r.do(ctx)
	if err != nil {
		a.leave()
		return Report{}, err
	}
	head, err := a.settle(ctx, r.accepted(), o.Settle)
	if err != nil {
		a.leave()
		return Report{}, err
	}
	report.Audience = a.end(head, r.submissions, r.began)
	return report, nil
}

// measurement is one run of a load.
type measurement struct {
	target      Target
	plan        Plan
	options     Options
	workers     []*worker
	submissions map[[32]byte]*submission
	began       time.Time
}

func newMeasurement(target Target, plan Plan, queues [][]Call, o Options, node *url.URL) *measurement {
	r := &measurement{target: target, plan: plan, options: o, submissions: map[[32]byte]*submission{}}
	encoder := newEncoder(node, o.Token, o.Batch > 1)
	for i, calls := range queues {
		for _, call := range calls {
			if call.Transaction != nil {
				r.submissions[*call.Transaction] = &submission{}
			}
		}
		if whole := len(calls) / o.Batch * o.Batch; plan.Load.Repeats() && whole > 0 {
			calls = calls[:whole] // only whole batches can repeat
		}
		r.workers = append(r.workers, &worker{
			dialer:      dialer{node, o.TLS},
			encoder:     encoder,
			schedule:    newSchedule(o.Rate, o.Batch, i, len(queues)),
			judge:       target.Judge,
			queue:       queue{requests: encoder.split(calls, o.Batch), repeat: plan.Load.Repeats()},
			submissions: r.submissions,
			latency:     newHistogram(), errors: map[string]*ErrorCount{},
		})
	}
	return r
}

func (r *measurement) do(ctx context.Context) (Report, error) {
	if len(r.submissions) == 0 {
		r.began = time.Now()
		clock := wallClock{r.began}
		report := r.report(r.send(ctx, clock))
		report.Interrupted = ctx.Err() != nil
		return report, nil
	}
	head, err := r.target.Height(ctx)
	if err != nil {
		return Report{}, err
	}
	r.began = time.Now()
	clock := wallClock{r.began}
	watcher := newWatcher(r.target, clock, r.submissions, head)
	watching, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { watcher.follow(watching) })
	elapsed := r.send(ctx, clock)
	accepted := r.accepted()
	err = watcher.settle(ctx, accepted, r.options.Settle, func(included int64) { r.progress(clock, true, included) })
	stop()
	following.Wait()
	report := r.report(elapsed)
	report.Inclusion = watcher.report(accepted)
	report.Interrupted = ctx.Err() != nil
	if err != nil {
		report.Errors = append(report.Errors, ErrorCount{Code: "blocks", Count: 1, Example: err.Error()})
	}
	return report, nil
}

// send runs all workers, for at most the duration of the options, and returns after the last response.
func (r *measurement) send(ctx context.Context, clock clock) (elapsed time.Duration) {
	if r.options.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.options.Duration)
		defer cancel()
	}
	var sending sync.WaitGroup
	for _, w := range r.workers {
		w.clock = clock
		sending.Go(func() { w.run(ctx) })
	}
	done := make(chan struct{})
	go func() {
		sending.Wait()
		close(done)
	}()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.progress(clock, false, 0)
		case <-done:
			for _, w := range r.workers {
				elapsed = max(elapsed, w.last)
			}
			return elapsed
		}
	}
}

func (r *measurement) progress(clock clock, settling bool, included int64) {
	if r.options.Progress == nil {
		return
	}
	p := Progress{Elapsed: clock.now(), Settling: settling, Included: included}
	for _, w := range r.workers {
		p.Done += w.done.Load()
		p.Failed += w.failed.Load()
	}
	r.options.Progress(p)
}
