package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/output"
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

func (a *app) newBench() *cobra.Command {
	var flags benchmark
	command := a.define(&cobra.Command{
		Use:   "bench",
		Short: "Load a node and measure it",
		Long: `Load a node and measure how many calls it answers, how fast, and how soon transfers are in a block.

Transfers are signed before the clock starts. Their senders are funded by the development chain or, on any other chain,
by --from; what is left in their accounts serves the next run from the same account. Without --rate each connection
sends its next request when the one before it is answered (a closed loop). With it requests are sent at that rate
whatever the node does, and a latency counts from the time at which its request was due. An interrupt ends the run
with what was measured.

The loads "tokens" and "views" deploy the reference token first, and give each sender some of it.

The load "subscribers" sends transfers while --subscribers follow new blocks over WebSocket, and counts what they miss and
how late they learn of a block. The first --stalled of them read nothing until the node has dropped them all, which
its metrics tell, or the run has ended.`,
		Example: `  cairn bench
  cairn bench --load transfers --batch 100 --json
  cairn bench --load reads --connections 32 --duration 10s
  cairn bench --load tokens --batch 100 --per-sender 50
  cairn bench --load views --connections 32
  cairn bench --load mixed --rate 5000 --duration 30s --from alice
  cairn bench --load subscribers --subscribers 1000 --stalled 100 --rate 1000 --metrics-url http://127.0.0.1:8778/metrics`,
		Args: exactly(),
	}, senderSettings, flags.run)
	f := command.Flags()
	f.StringVar(
		&flags.load,
		"load",
		string(loadgen.Transfers),
		"transfers, reads (of balances), mixed (9 reads for each transfer), tokens (transfers of a token), views (view "+
			"calls of its balances) or subscribers (transfers while others listen)",
	)
	var loads []string
	for _, load := range loadgen.Loads() {
		loads = append(loads, string(load))
	}
	CompleteChoice(command, "load", loads...)
	f.IntVar(&flags.connections, "connections", 16, "connections, each with one request at a time")
	f.IntVar(&flags.batch, "batch", 1, "calls in a request; 1 sends them singly")
	f.IntVar(&flags.senders, "senders", 400, "accounts that send")
	f.IntVar(&flags.perSender, "per-sender", 500, "transfers of each")
	f.Float64Var(&flags.rate, "rate", 0, "calls a second, whether or not the node keeps up; 0: as many as it answers")
	f.DurationVar(&flags.duration, "duration", 0, "the longest to send; 0: until all is sent, and 10s for reads and views")
	f.DurationVar(&flags.settle, "settle", time.Minute, "the longest to wait after that until transfers are in a block")
	f.IntVar(&flags.audience.Subscribers, "subscribers", 1000, "connections that follow new blocks")
	f.IntVar(&flags.audience.Stalled, "stalled", 0, "of them, those that stop reading")
	f.IntVar(
		&flags.audience.Pending,
		"pending",
		0,
		"of them, those that follow pending transactions too; the ones that stop reading come first",
	)
	f.StringVar(
		&flags.metricsURL,
		"metrics-url",
		"",
		"URL of the node's metrics, to report its memory, goroutines and blocks beside subscribers",
	)
	return command
}

// defaultReadTime is the default duration of reads.
const defaultReadTime = 10 * time.Second

func (f *benchmark) plan() loadgen.Plan {
	return loadgen.Plan{Load: loadgen.Load(f.load), Connections: f.connections, Senders: f.senders, PerSender: f.perSender}
}

func (f *benchmark) run(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
	plan := f.plan()
	if err := plan.Check(); err != nil {
		return output.Usage(err)
	}
	if f.batch < 1 || f.rate < 0 || f.duration < 0 || f.settle < 0 {
		return output.Usage(fmt.Errorf("--batch is at least 1, and --rate, --duration and --settle are not below 0"))
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
	progress, stop := s.Bar(s.terminal, "signing")
	queues, err := loadgen.Prepare(ctx, target, plan, progress)
	stop()
	if err != nil {
		return err
	}
	options := loadgen.Options{
		URL:        s.settings.RPCURL,
		Batch:      f.batch,
		Rate:       f.rate,
		Duration:   f.duration,
		Settle:     f.settle,
		TLS:        s.tls,
		Audience:   f.audience,
		MetricsURL: f.metricsURL,
	}
	if plan.Load.Repeats() && options.Duration == 0 {
		options.Duration = defaultReadTime
	}
	if s.settings.APIKeyFile != "" {
		if options.Token, err = readSecretFile(s.settings.APIKeyFile); err != nil {
			return output.Usage(err)
		}
	}
	describe, stop := s.Live(s.terminal)
	options.Progress = func(p loadgen.Progress) { describe(progressLine(p)) }
	report, err := loadgen.Run(ctx, target, plan, queues, options)
	stop()
	if err != nil {
		return err
	}
	return s.Result(report, func(t *output.Text) { printReport(t, report) })
}

// target prepares the senders. The account of --from pays for them, if given.
func (f *benchmark) target(ctx context.Context, s *session, plan loadgen.Plan) (loadgen.Target, error) {
	var treasury *crypto.PrivateKey
	if s.settings.From != "" {
		from, err := s.sender(false)
		if err != nil {
			return nil, err
		}
		if err := s.onChain(ctx, from); err != nil {
			return nil, err
		}
		if !from.IsKey() {
			return nil, output.Usage(fmt.Errorf("%s signs by a policy, and this takes a key", from.Text))
		}
		secret, err := s.secret(ctx, from)
		if err != nil {
			return nil, err
		}
		treasury = &secret.Key
	}
	preparing, cancel := s.patience(ctx)
	defer cancel()
	return loadgen.PrepareCairn(preparing, s.client, plan, treasury, func(text string) { s.Note("%s", text) })
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
		fields = append(fields, output.Field{Name: "Interrupted", Value: "what was measured until then"})
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
			"%d of %d blocks: %d missed, %d repeated, %d connections lost",
			a.Subscribers,
			a.Blocks,
			a.Missed,
			a.Repeated,
			countAll(a.Lost),
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
		value := fmt.Sprintf("%d, of them %d still connected", s.Subscribers, s.Open)
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
