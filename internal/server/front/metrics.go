package front

import "github.com/cairn-chain/cairn/internal/server/telemetry"

// Metrics returns the metrics of the public address.
func Metrics() []telemetry.Metric[Stats] {
	return []telemetry.Metric[Stats]{
		telemetry.Gauge("http_connections", "Open connections to the public address.", func(s Stats) int { return s.Open }),
		telemetry.Gauge("http_memory_bytes", "Memory held by large requests and answers of the public address.",
			func(s Stats) int64 { return s.Memory }),
		telemetry.Counter("http_requests_total", "Requests answered by the fast JSON-RPC server.",
			func(s Stats) uint64 { return s.Requests }),
		telemetry.Counter("http_handed_over_total", "Connections handed over to the general HTTP server.",
			func(s Stats) uint64 { return s.Handed }),
		telemetry.Counter("http_displaced_total", "Idle connections closed in favour of new ones.",
			func(s Stats) uint64 { return s.Displaced }),
		telemetry.Counters("http_refused_total", "Requests and connections refused, by cause.", "cause", func(
			s Stats,
		) map[string]uint64 {
			return map[string]uint64{
				"rate_limited": s.RateLimited, "unauthorized": s.Unauthorized, "too_large": s.TooLarge,
				"too_many_connections": s.TooManyConnections, "timeout": s.Timeouts, "forbidden_host": s.ForbiddenHost,
				"forbidden_origin": s.ForbiddenOrigin, "malformed": s.Malformed, "draining": s.Draining, "busy": s.Busy,
			}
		}),
	}
}
