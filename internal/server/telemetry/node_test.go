package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/role"
)

// TestNodeExportsTraces runs a node with a collector. By its end it has exported a span for each block, with its
// consecutive phases, and one for each call.
func TestNodeExportsTraces(t *testing.T) {
	exports := make(chan []byte, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		content, err := io.ReadAll(body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			http.Error(w, "not OTLP over HTTP", http.StatusBadRequest)
			return
		}
		exports <- content
	}))
	defer server.Close()
	blocks := runNode(t, server.URL)
	close(exports)
	spans := map[string][]*otlp.Span{}
	for content := range exports {
		var export collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(content, &export); err != nil {
			t.Fatal(err)
		}
		for _, resource := range export.ResourceSpans {
			i := slices.IndexFunc(resource.Resource.Attributes, func(a *common.KeyValue) bool { return a.Key == "cairn.chain_id" })
			if i < 0 || resource.Resource.Attributes[i].Value.GetIntValue() != api.DevelopmentChainID {
				t.Errorf("got the resource %v, want chain id %d", resource.Resource, api.DevelopmentChainID)
			}
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					spans[span.Name] = append(spans[span.Name], span)
				}
			}
		}
	}
	if len(spans["svc_chainId"]) != 1 || len(spans["block"]) != blocks {
		t.Fatalf("%d spans of 1 call, %d of %d blocks", len(spans["svc_chainId"]), len(spans["block"]), blocks)
	}
	for i, block := range spans["block"] {
		at := block.StartTimeUnixNano
		for _, phase := range []string{"execute", "tree", "seal", "append"} {
			if len(spans[phase]) != len(spans["block"]) {
				t.Fatalf("%d spans of %s, of %d blocks", len(spans[phase]), phase, len(spans["block"]))
			}
			span := spans[phase][i]
			if string(span.ParentSpanId) != string(block.SpanId) || span.StartTimeUnixNano != at {
				t.Errorf("%s of block %d is %v", phase, i, span)
			}
			at = span.EndTimeUnixNano
		}
		if at != block.EndTimeUnixNano {
			t.Errorf("the phases of block %d end at %d, it at %d", i, at, block.EndTimeUnixNano)
		}
	}
}

// newNode is a node of a development chain that exports its traces to a collector.
func newNode(t *testing.T, endpoint string) *node.Node {
	t.Helper()
	development, err := datadir.NewDevelopment(api.DevelopmentMnemonic, 1)
	if err != nil {
		t.Fatal(err)
	}
	genesis := development.Genesis(uint64(time.Now().Unix()))
	dir, err := datadir.Open(t.TempDir(), datadir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := node.Config{
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Solo{Production: role.Production{
			Key: role.LocalKey(development.Producer), BlockTime: time.Hour, Development: development,
		}},
		Serving: node.Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
	}
	config.Traces.Endpoint, config.Traces.Every = endpoint, 1
	n, err := node.New(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// runNode lets a node make blocks on demand and answer a call, and returns the number of blocks.
func runNode(t *testing.T, endpoint string) (blocks int) {
	t.Helper()
	n := newNode(t, endpoint)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	blocks = 3
	for _, call := range []string{`"svc_chainId","params":[]`, fmt.Sprintf(`"dev_mine","params":[%d]`, blocks)} {
		response, err := http.Post(
			n.RPCURL(), "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":`+call+`}`),
		)
		if err != nil {
			t.Error(err)
			break
		}
		answer, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || !bytes.Contains(answer, []byte(`"result"`)) {
			t.Errorf("%s: got %s, error %v", call, answer, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return blocks
}

// A new node has few series: the series of a method appear with its first call.
func TestScrapeIsSmall(t *testing.T) {
	n := newNode(t, "")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	series := func() (all int, called []string) {
		response, err := http.Get(n.Admin().URL + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "cairn_rpc_call_duration_seconds_count") {
				called = append(called, line)
			}
			if line[0] != '#' {
				all++
			}
		}
		return all, called
	}
	if all, called := series(); all >= 600 || len(called) > 0 {
		t.Errorf("got %d series and the calls %q, want less than 600 and none", all, called)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"svc_chainId","params":[]}`
	response, err := http.Post(n.RPCURL(), "application/json", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if _, called := series(); len(called) != 1 || !strings.Contains(called[0], `"svc_chainId"} 1`) {
		t.Errorf("got the calls %q, want one of svc_chainId", called)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
