// Package telemetry exports metrics for Prometheus and traces for an OpenTelemetry collector. It depends on no part of
// the node: the wiring passes it the functions that read them.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/logs"
)

// namespace is the prefix of all metric names.
const namespace = "cairn"

// UnknownMethod is the label of calls to unknown methods: names that clients make up must not become labels.
const UnknownMethod = "unknown"

// Config selects what is observed.
type Config struct {
	Build   build.Info
	Methods []string // names of the RPC methods; values of the label method
	Codes   []int    // JSON-RPC error codes; exported as 0 from the start, so that a rate includes the first error
	Phases  []string // names of the phases of making a block; values of the label phase
	Traces  Traces
	Log     *slog.Logger
}

// Telemetry collects metrics and traces of a node. It is safe for concurrent use.
type Telemetry struct {
	registry *prometheus.Registry
	log      *slog.Logger
	tracer   *tracer // nil: no traces

	calls      map[string]func() prometheus.Observer // by method; never changes, so reading needs no lock
	callErrors *prometheus.CounterVec

	phases       map[string]prometheus.Observer
	blockTotal   prometheus.Histogram
	blockLate    prometheus.Histogram
	transactions prometheus.Counter
	gas          prometheus.Counter
}

// Buckets in seconds: calls from 25 µs on, since most reads take less than 100 µs; blocks from half a millisecond on.
var (
	callBuckets = []float64{
		25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10,
		30,
	}
	blockBuckets = []float64{0.5e-3, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}
)

// New returns a Telemetry with the metrics of the process, of calls and of blocks. It fails if the settings of the
// traces are invalid.
func New(config Config) (*Telemetry, error) {
	t := NewProcess(config.Build, config.Log)
	t.registerCalls(config.Methods, config.Codes)
	t.registerBlocks(config.Phases)
	var err error
	t.tracer, err = newTracer(config)
	return t, err
}

// NewProcess returns a Telemetry with the metrics of the process only, for a process that is not, or not yet, a node.
func NewProcess(program build.Info, log *slog.Logger) *Telemetry {
	t := &Telemetry{registry: prometheus.NewRegistry(), log: log}
	// The size of the live heap is not among the default metrics.
	live := collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)}
	t.registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(live)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the labels describe the program's build.",
	}, []string{"version", "commit", "goversion"})
	info.WithLabelValues(program.Version, program.Commit, program.Go).Set(1)
	t.registry.MustRegister(info)
	return t
}

func (t *Telemetry) registerCalls(methods []string, codes []int) {
	calls := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "rpc_call_duration_seconds", Help: "Time to answer a call, by method.",
		Buckets: callBuckets,
	}, []string{"method"})
	t.callErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "rpc_errors_total", Help: "Calls answered with an error, by JSON-RPC error code.",
	}, []string{"code"})
	t.registry.MustRegister(calls, t.callErrors)
	t.calls = map[string]func() prometheus.Observer{}
	for _, method := range append([]string{UnknownMethod}, methods...) {
		// A method's series appears with its first call: series of all methods would be three quarters of a scrape.
		t.calls[method] = sync.OnceValue(func() prometheus.Observer { return calls.WithLabelValues(method) })
	}
	for _, code := range codes {
		t.callErrors.WithLabelValues(strconv.Itoa(code))
	}
}

func (t *Telemetry) registerBlocks(phases []string) {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "block_phase_duration_seconds", Help: "Time of each phase of block production.",
		Buckets: blockBuckets,
	}, []string{"phase"})
	t.phases = map[string]prometheus.Observer{}
	for _, phase := range phases {
		t.phases[phase] = durations.WithLabelValues(phase)
	}
	t.blockTotal = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "block_duration_seconds", Help: "Total time to produce a block.",
		Buckets: blockBuckets,
	})
	t.blockLate = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "block_late_seconds",
		Help: "Delay of the start of block production relative to the block interval.", Buckets: blockBuckets,
	})
	t.transactions = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "block_transactions_total", Help: "Transactions in blocks produced since the " +
			"start.",
	})
	t.gas = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "block_gas_total", Help: "Gas used by blocks produced since the start.",
	})
	t.registry.MustRegister(durations, t.blockTotal, t.blockLate, t.transactions, t.gas)
}

// Histogram registers a histogram of times, with the buckets of blocks, and returns a function that records a time.
func (t *Telemetry) Histogram(name, help string) func(time.Duration) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: blockBuckets,
	})
	t.registry.MustRegister(h)
	return func(took time.Duration) { h.Observe(took.Seconds()) }
}

// Observe records an answered call. It serves as jsonrpc.Options.Observe. A code of 0 means success.
func (t *Telemetry) Observe(method string, code int, took time.Duration) {
	call, ok := t.calls[method]
	if !ok {
		method, call = UnknownMethod, t.calls[UnknownMethod]
	}
	call().Observe(took.Seconds())
	if code != 0 {
		t.callErrors.WithLabelValues(strconv.Itoa(code)).Inc() // the program defines the codes, not the client
	}
	if t.tracer != nil {
		t.tracer.call(method, code, took)
	}
}

// Block describes a block that was made.
type Block struct {
	Height       uint64
	Transactions int
	Gas          uint64
	Start        time.Time
	Late         time.Duration // delay of Start after the previous block's start plus the interval
	Phases       []Phase       // in order, without gaps
}

// Phase is a part of making a block.
type Phase struct {
	Name string // one of [Config].Phases
	Took time.Duration
}

// Block records a block that was made.
func (t *Telemetry) Block(b Block) {
	var total time.Duration
	for _, phase := range b.Phases {
		t.phases[phase.Name].Observe(phase.Took.Seconds())
		total += phase.Took
	}
	t.blockTotal.Observe(total.Seconds())
	t.blockLate.Observe(b.Late.Seconds())
	t.transactions.Add(float64(b.Transactions))
	t.gas.Add(float64(b.Gas))
	if t.tracer != nil {
		t.tracer.block(b)
	}
}

// Handler serves the metrics in the Prometheus formats.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog: logs.Of(t.log, "cannot serve all metrics"), MaxRequestsInFlight: 4,
	})
}

// Close sends the remaining traces, until ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.tracer == nil {
		return nil
	}
	return t.tracer.close(ctx)
}
