package telemetry

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/internal/build"
)

func testConfig() Config {
	return Config{
		Build: build.Info{Version: "1.2.3", Commit: "c0ffee", Go: "go1.26"}, Methods: []string{"svc_chainId"},
		Codes: []int{-32603}, Phases: []string{"execute", "append"}, Log: slog.New(slog.DiscardHandler),
	}
}

func newTelemetry(t *testing.T, config Config) *Telemetry {
	t.Helper()
	made, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// expect scrapes, and checks that lines are present.
func expect(t *testing.T, made *Telemetry, lines ...string) {
	t.Helper()
	w := httptest.NewRecorder()
	made.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	scraped := strings.Split(w.Body.String(), "\n")
	for _, line := range lines {
		found := false
		for _, s := range scraped {
			found = found || s == line
		}
		if !found {
			t.Errorf("no line %q in:\n%s", line, strings.Join(filter(scraped, "cairn_"), "\n"))
		}
	}
}

func filter(lines []string, prefix string) (kept []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			kept = append(kept, line)
		}
	}
	return kept
}

func TestCalls(t *testing.T) {
	made := newTelemetry(t, testConfig())
	made.Observe("svc_chainId", 0, 30*time.Microsecond)
	made.Observe("svc_chainId", -32602, 2*time.Second)
	made.Observe("", -32601, time.Microsecond)
	made.Observe("chosen by a client", -32601, time.Microsecond)
	expect(t, made,
		`cairn_rpc_call_duration_seconds_count{method="svc_chainId"} 2`,
		`cairn_rpc_call_duration_seconds_bucket{method="svc_chainId",le="2.5e-05"} 0`,
		`cairn_rpc_call_duration_seconds_bucket{method="svc_chainId",le="5e-05"} 1`,
		`cairn_rpc_call_duration_seconds_bucket{method="svc_chainId",le="2.5"} 2`,
		`cairn_rpc_call_duration_seconds_count{method="unknown"} 2`,
		`cairn_rpc_errors_total{code="-32601"} 2`,
		`cairn_rpc_errors_total{code="-32602"} 1`,
		`cairn_rpc_errors_total{code="-32603"} 0`)
}

// testBlock took 7 ms.
var testBlock = Block{
	Height:       9,
	Transactions: 3,
	Gas:          63_000,
	Start:        time.Unix(1_700_000_000, 0),
	Late:         20 * time.Millisecond,
	Phases:       []Phase{{"execute", 4 * time.Millisecond}, {"append", 3 * time.Millisecond}},
}

func TestBlocks(t *testing.T) {
	made := newTelemetry(t, testConfig())
	made.Block(testBlock)
	expect(t, made,
		`cairn_block_phase_duration_seconds_sum{phase="execute"} 0.004`,
		`cairn_block_phase_duration_seconds_bucket{phase="append",le="0.0025"} 0`,
		`cairn_block_phase_duration_seconds_bucket{phase="append",le="0.005"} 1`,
		`cairn_block_duration_seconds_sum 0.007`,
		`cairn_block_late_seconds_sum 0.02`,
		`cairn_block_transactions_total 3`,
		`cairn_block_gas_total 63000`)
}

func TestHistogram(t *testing.T) {
	made := newTelemetry(t, testConfig())
	observe := made.Histogram("decision_seconds", "Help.")
	observe(20 * time.Millisecond)
	observe(2 * time.Second)
	expect(t, made, `cairn_decision_seconds_count 2`, `cairn_decision_seconds_sum 2.02`)
}

func TestReadings(t *testing.T) {
	type state struct {
		depth int
		seen  map[string]uint64
	}
	made := newTelemetry(t, testConfig())
	asked := 0
	Register(made, func() state { asked++; return state{asked, map[string]uint64{"a": 5, "b": 6}} },
		Gauge("depth", "How deep.", func(s state) int { return s.depth }),
		Gauge("depth_twice", "How deep, twice.", func(s state) int { return 2 * s.depth }),
		Counters("seen_total", "What was seen.", "kind", func(s state) map[string]uint64 { return s.seen }),
		Gauges("seen", "What is seen.", "kind", func(s state) map[string]uint64 { return s.seen }),
		Counter("all_total", "All of it.", func(s state) float64 { return 1.5 }))
	expect(t, made, "cairn_depth 1", "cairn_depth_twice 2", `cairn_seen_total{kind="b"} 6`, `cairn_seen{kind="a"} 5`,
		"cairn_all_total 1.5",
		"# TYPE cairn_seen_total counter", "# TYPE cairn_depth gauge", "# HELP cairn_depth How deep.")
	if asked != 1 {
		t.Errorf("the state was read %d times for one scrape, want 1", asked)
	}
}

func TestProcessAndBuild(t *testing.T) {
	made := newTelemetry(t, testConfig())
	w := httptest.NewRecorder()
	made.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, name := range []string{
		"go_goroutines", "go_gc_gomemlimit_bytes", "go_gc_heap_live_bytes",
		`cairn_build_info{commit="c0ffee",goversion="go1.26",version="1.2.3"}`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// otlpCollector keeps the spans that it receives.
type otlpCollector struct {
	mu    sync.Mutex
	spans []*otlp.Span
	path  string
}

func (c *otlpCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	content, err := io.ReadAll(body)
	var export collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(content, &export)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = r.URL.Path
	for _, resource := range export.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

func TestTraces(t *testing.T) {
	var received otlpCollector
	server := httptest.NewServer(&received)
	defer server.Close()
	config := testConfig()
	config.Traces = Traces{Endpoint: server.URL, Every: 2, ChainID: 7}
	made := newTelemetry(t, config)
	for range 4 {
		made.Observe("svc_chainId", -32602, time.Millisecond)
	}
	made.Block(testBlock)
	if err := made.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	byName := map[string][]*otlp.Span{}
	for _, span := range received.spans {
		byName[span.Name] = append(byName[span.Name], span)
	}
	if received.path != "/v1/traces" || len(byName["svc_chainId"]) != 2 || len(byName["block"]) != 1 ||
		len(received.spans) != 5 {
		t.Fatalf("%s: got %v", received.path, received.spans)
	}
	call := byName["svc_chainId"][0]
	if call.EndTimeUnixNano-call.StartTimeUnixNano != uint64(time.Millisecond) ||
		call.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("the call's span is %v", call)
	}
	block, execute, store := byName["block"][0], byName["execute"][0], byName["append"][0]
	start := uint64(testBlock.Start.UnixNano())
	if block.StartTimeUnixNano != start || block.EndTimeUnixNano != start+uint64(7*time.Millisecond) {
		t.Errorf("the block's span is %v", block)
	}
	if execute.StartTimeUnixNano != start || store.StartTimeUnixNano != execute.EndTimeUnixNano ||
		store.EndTimeUnixNano != block.EndTimeUnixNano {
		t.Errorf("the phases are %v and %v", execute, store)
	}
	for _, child := range []*otlp.Span{execute, store} {
		if string(child.ParentSpanId) != string(block.SpanId) || string(child.TraceId) != string(block.TraceId) {
			t.Errorf("%s is no child of the block", child.Name)
		}
	}
}

func TestCollectorAway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	config := testConfig()
	config.Traces = Traces{Endpoint: server.URL + "/custom", Every: 1}
	made := newTelemetry(t, config)
	made.Block(testBlock)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := made.Close(ctx); err == nil {
		t.Error("spans that nobody took are no error")
	}
}

func TestBadTraces(t *testing.T) {
	for name, traces := range map[string]Traces{
		"no URL":         {Endpoint: "localhost:4318", Every: 1},
		"another scheme": {Endpoint: "grpc://localhost:4317", Every: 1},
		"no host":        {Endpoint: "http://", Every: 1},
		"one of none":    {Endpoint: "http://localhost:4318"},
	} {
		config := testConfig()
		config.Traces = traces
		if _, err := New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWithoutTracesCallsAllocateNothing(t *testing.T) {
	made := newTelemetry(t, testConfig())
	if n := testing.AllocsPerRun(1000, func() { made.Observe("svc_chainId", 0, time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
	if err := made.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
