package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces configures the export of traces. The zero value disables them, at no cost.
type Traces struct {
	// Endpoint is the URL of an OpenTelemetry collector for OTLP over HTTP, such as http://127.0.0.1:4318. The default
	// path is /v1/traces.
	Endpoint string
	// Every is the sampling interval: one in Every calls is traced. It is at least 1. All blocks are traced.
	Every uint64
	// ChainID distinguishes chains in the collector.
	ChainID uint64
}

// url checks the settings and returns the collector's URL with its path.
func (t Traces) url() (string, error) {
	endpoint, err := url.Parse(t.Endpoint)
	switch {
	case err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https":
		return "", errors.New("the OTLP endpoint is not a URL such as http://127.0.0.1:4318")
	case t.Every == 0:
		return "", errors.New("cannot trace one of 0 calls: the interval must be at least 1")
	}
	if endpoint.Path == "" || endpoint.Path == "/" {
		endpoint.Path = "/v1/traces" // OTLP/HTTP, "OTLP/HTTP Request"
	}
	return endpoint.String(), nil
}

// tracer creates spans afterwards, from times that are measured anyway.
type tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	every    uint64
	calls    atomic.Uint64
}

func newTracer(config Config) (*tracer, error) {
	if config.Traces.Endpoint == "" {
		return nil, nil
	}
	endpoint, err := config.Traces.url()
	if err != nil {
		return nil, err
	}
	// New connects only when there is a span to send: an unreachable collector does not keep the node from starting.
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { config.Log.Warn("cannot export traces", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "cairn"),
			attribute.String("service.version", config.Build.Version),
			attribute.Int64("cairn.chain_id", int64(config.Traces.ChainID)))))
	return &tracer{
		provider: provider, tracer: provider.Tracer("github.com/cairn-chain/cairn"), every: config.Traces.Every,
	}, nil
}

func (t *tracer) call(method string, code int, took time.Duration) {
	if t.calls.Add(1)%t.every != 0 {
		return
	}
	end := time.Now()
	_, span := t.tracer.Start(context.Background(), method, trace.WithTimestamp(end.Add(
		-took,
	)), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("rpc.system", "jsonrpc"), attribute.String("rpc.method", method)))
	if code != 0 {
		span.SetAttributes(attribute.Int("rpc.jsonrpc.error_code", code))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(end))
}

func (t *tracer) block(b Block) {
	ctx, block := t.tracer.Start(context.Background(), "block", trace.WithTimestamp(b.Start), trace.WithAttributes(
		attribute.Int64("cairn.block.height", int64(b.Height)), attribute.Int("cairn.block.transactions", b.Transactions),
		attribute.Int64("cairn.block.gas", int64(b.Gas))))
	at := b.Start
	for _, phase := range b.Phases {
		_, span := t.tracer.Start(ctx, phase.Name, trace.WithTimestamp(at))
		at = at.Add(phase.Took)
		span.End(trace.WithTimestamp(at))
	}
	block.End(trace.WithTimestamp(at))
}

func (t *tracer) close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}
