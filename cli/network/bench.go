package network

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/kit/loadgen"
)

// benchmark holds the flags of cairn bench.
type benchmark struct {
	load                                   string
	connections, batch, senders, perSender int
	rate                                   float64
	duration, settle                       time.Duration
	audience                               loadgen.Audience
	metricsURL                             string
}

func newBench(a *session.App) *cobra.Command {
	var flags benchmark
	command := a.Define(&cobra.Command{
		Use:   "bench",
		Short: "Run a load test against a node",
		Long: `Run a load test against a node: measure its throughput, its latency, and the time until
transfers are in a block.

Transfers are signed before the measurement starts. Their senders are funded by the
development chain or, on any other chain, by --from; the remaining balances are reused
by the next run from the same account. Without --rate each connection sends its next
request once the previous one is answered (closed loop). With --rate requests are sent
at that rate regardless of the node (open loop), and latency counts from the time at
which a request was due. An interrupt ends the run and prints the measurements so far.

The loads "tokens" and "views" first deploy the reference token, and give each sender
some tokens.

The load "subscribers" sends transfers while --subscribers follow new blocks over
WebSocket, and counts missed blocks and measures how late blocks arrive. The first
--stalled of the subscribers stop reading until the node has disconnected all of them,
as shown by its metrics, or the run has ended.`,
		Example: `  cairn bench
  cairn bench --load transfers --batch 100 --json
  cairn bench --load reads --connections 32 --duration 10s
  cairn bench --load tokens --batch 100 --per-sender 50
  cairn bench --load views --connections 32
  cairn bench --load mixed --rate 5000 --duration 30s --from alice
  cairn bench --load subscribers --subscribers 1000 --stalled 100 --rate 1000 --metrics-url http://127.0.0.1:8778/metrics`,
		Args: invoke.Exactly(),
	}, session.SenderSettings, flags.run)
	f := command.Flags()
	f.StringVar(
		&flags.load,
		"load",
		string(loadgen.Transfers),
		"load to run: transfers, reads (balance queries), mixed (9 reads per transfer), tokens (token transfers), "+
			"views (view calls of token balances) or subscribers (transfers while subscribers follow blocks)",
	)
	var loads []string
	for _, load := range loadgen.Loads() {
		loads = append(loads, string(load))
	}
	invoke.CompleteChoice(command, "load", loads...)
	f.IntVar(&flags.connections, "connections", 16, "number of connections, each with one request at a time")
	f.IntVar(&flags.batch, "batch", 1, "calls per request; 1: no batching")
	f.IntVar(&flags.senders, "senders", 400, "number of sending accounts")
	f.IntVar(&flags.perSender, "per-sender", 500, "transfers per sender")
	f.Float64Var(&flags.rate, "rate", 0, "calls per second, whether or not the node keeps up; 0: send the next "+
		"request after each answer")
	f.DurationVar(&flags.duration, "duration", 0, "maximum time to send; 0: until everything is sent, or 10s for "+
		"reads and views")
	f.DurationVar(&flags.settle, "settle", time.Minute, "maximum time to wait afterwards until all transfers are in "+
		"blocks")
	f.IntVar(&flags.audience.Subscribers, "subscribers", 1000, "number of connections that follow new blocks")
	f.IntVar(&flags.audience.Stalled, "stalled", 0, "number of these subscribers that stop reading")
	f.IntVar(
		&flags.audience.Pending, "pending", 0,
		"number of these subscribers that also follow pending transactions, starting with the stalled ones",
	)
	f.StringVar(
		&flags.metricsURL, "metrics-url", "",
		"URL of the node's metrics, to report its memory, goroutines and blocks with the load subscribers",
	)
	return command
}

// defaultReadTime is the default duration of reads.
const defaultReadTime = 10 * time.Second

func (f *benchmark) plan() loadgen.Plan {
	return loadgen.Plan{Load: loadgen.Load(f.load), Connections: f.connections, Senders: f.senders, PerSender: f.perSender}
}

func (f *benchmark) run(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
	plan := f.plan()
	if err := plan.Check(); err != nil {
		return output.Usage(err)
	}
	if f.batch < 1 || f.rate < 0 || f.duration < 0 || f.settle < 0 {
		return output.Usage(fmt.Errorf("--batch must be at least 1, and --rate, --duration and --settle at least 0"))
	}
	if plan.Load == loadgen.Subscribers {
		if err := f.audience.Check(); err != nil {
			return output.Usage(err)
		}
	}
	target, err := f.target(ctx, s, plan)
	if err != nil {
		return err
	}
	progress, stop := s.Bar(s.Terminal, "signing")
	queues, err := loadgen.Prepare(ctx, target, plan, progress)
	stop()
	if err != nil {
		return err
	}
	options := loadgen.Options{
		URL:        s.Settings.RPCURL,
		Batch:      f.batch,
		Rate:       f.rate,
		Duration:   f.duration,
		Settle:     f.settle,
		TLS:        s.TLS,
		Audience:   f.audience,
		MetricsURL: f.metricsURL,
	}
	if plan.Load.Repeats() && options.Duration == 0 {
		options.Duration = defaultReadTime
	}
	if s.Settings.APIKeyFile != "" {
		if options.Token, err = session.ReadSecretFile(s.Settings.APIKeyFile); err != nil {
			return output.Usage(err)
		}
	}
	describe, stop := s.Live(s.Terminal)
	options.Progress = func(p loadgen.Progress) { describe(progressLine(p)) }
	report, err := loadgen.Run(ctx, target, plan, queues, options)
	stop()
	if err != nil {
		return err
	}
	return s.Result(report, func(t *output.Text) { printReport(t, report) })
}

// target prepares the senders. The account of --from pays for them, if given.
func (f *benchmark) target(ctx context.Context, s *session.Session, plan loadgen.Plan) (loadgen.Target, error) {
	var treasury *crypto.PrivateKey
	if s.Settings.From != "" {
		from, err := submit.Sender(s, false)
		if err != nil {
			return nil, err
		}
		if err := submit.OnChain(ctx, s, from); err != nil {
			return nil, err
		}
		if !from.IsKey() {
			return nil, output.Usage(fmt.Errorf("%s is signed for by a policy, but this command needs an account "+
				"with a key", from.Text))
		}
		secret, err := s.Secret(ctx, from)
		if err != nil {
			return nil, err
		}
		treasury = &secret.Key
	}
	preparing, cancel := s.Patience(ctx)
	defer cancel()
	return loadgen.PrepareCairn(preparing, s.Client, plan, treasury, func(text string) { s.Note("%s", text) })
}

// progressLine formats the progress of a run.
func progressLine(p loadgen.Progress) string {
	if p.Settling {
		return fmt.Sprintf("all sent, %d transfers in blocks", p.Included)
	}
	return fmt.Sprintf("%d calls, %.0f a second, %d errors", p.Done, float64(p.Done)/p.Elapsed.Seconds(), p.Failed)
}

func printReport(t *output.Text, r loadgen.Report) {
	loop := "closed loop"
	if r.OfferedRate > 0 {
		loop = fmt.Sprintf("open loop, %.0f calls a second", r.OfferedRate)
	}
	size := "singly"
	if r.Batch > 1 {
		size = fmt.Sprintf("batches of %d", r.Batch)
	}
	fields := []output.Field{
		{Name: "Load", Value: fmt.Sprintf("%s, %s, %d connections, %s", r.Load, size, r.Connections, loop)},
		{Name: "Node", Value: r.URL},
		{Name: "Calls", Value: fmt.Sprintf("%d in %.2f s, %.0f a second", r.Calls, r.Seconds, r.CallsPerSecond)},
		{Name: "Requests", Value: r.Requests},
		{Name: "Latency of a request", Value: percentilesLine(r.Latency)},
	}
	if i := r.Inclusion; i != nil {
		rate := "too few blocks for a rate"
		if i.PerSecond != nil {
			rate = fmt.Sprintf("%.0f a second", *i.PerSecond)
		}
		fields = append(fields,
			output.Field{Name: "Transfers accepted", Value: i.Accepted},
			output.Field{Name: "Transfers included", Value: fmt.Sprintf("%d in %d blocks, %s", i.Included, i.Blocks, rate)},
			output.Field{Name: "Time to inclusion", Value: percentilesLine(i.Latency)})
	}
	if r.Audience != nil {
		fields = append(fields, audienceFields(r.Audience)...)
	}
	if r.Interrupted {
		fields = append(fields, output.Field{Name: "Interrupted", Value: "measurements up to the interrupt"})
	}
	t.Fields(fields...)
	if len(r.Errors) == 0 {
		return
	}
	rows := make([][]any, len(r.Errors))
	for i, e := range r.Errors {
		rows[i] = []any{e.Code, e.Count, e.Example}
	}
	t.Line("")
	t.Table([]string{"ERROR", "TIMES", "FOR EXAMPLE"}, rows)
}

func audienceFields(a *loadgen.AudienceReport) []output.Field {
	fields := []output.Field{
		{Name: "Subscribers", Value: fmt.Sprintf(
			"%d of %d blocks: %d missed, %d repeated, %d connections lost", a.Subscribers, a.Blocks, a.Missed,
			a.Repeated, countAll(a.Lost),
		)},
		{Name: "Notifications", Value: fmt.Sprintf("%d, %.1f MiB", a.Notifications, float64(a.Bytes)/(1<<20))},
		{Name: "Delay of a block", Value: percentilesLine(a.Delay)},
	}
	if p := a.Pending; p != nil {
		fields = append(fields,
			output.Field{
				Name:  "Of pending transactions",
				Value: fmt.Sprintf("%d subscribers: %d missed, %d repeated", p.Subscribers, p.Missed, p.Repeated),
			},
			output.Field{Name: "Delay of a transaction", Value: percentilesLine(p.Delay)})
	}
	if s := a.Stalled; s != nil {
		value := fmt.Sprintf("%d, %d of them still connected", s.Subscribers, s.Open)
		for _, c := range s.Closed {
			value += fmt.Sprintf("; %d %s (%s)", c.Count, c.Code, c.Example)
		}
		fields = append(fields, output.Field{Name: "Stopped reading", Value: value})
	}
	if n := a.Node; n != nil {
		fields = append(fields,
			output.Field{
				Name:  "Node's resources",
				Value: fmt.Sprintf("%.0f MiB, %.0f goroutines, %.1f s of processor time", n.MemoryMiB, n.Goroutines, n.CPUSeconds),
			},
			output.Field{
				Name:  "Node's blocks",
				Value: fmt.Sprintf("%.0f, %.1f ms each, begun %.1f ms late", n.Blocks, n.BlockTime, n.BlockLate),
			})
	}
	return fields
}

func countAll(counts []loadgen.ErrorCount) (total int64) {
	for _, c := range counts {
		total += c.Count
	}
	return total
}

func percentilesLine(p loadgen.Percentiles) string {
	return fmt.Sprintf("p50 %.2f, p90 %.2f, p99 %.2f, p99.9 %.2f, most %.2f ms", p.P50, p.P90, p.P99, p.P999, p.Max)
}
