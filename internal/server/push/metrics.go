package push

import "github.com/cairn-chain/cairn/internal/server/telemetry"

// Metrics returns the metrics of WebSocket connections and their subscriptions.
func Metrics() []telemetry.Metric[Stats] {
	return []telemetry.Metric[Stats]{
		telemetry.Gauge("push_clients", "WebSocket connections.", func(s Stats) uint64 { return s.Clients }),
		telemetry.Gauge("push_subscriptions", "WebSocket subscriptions.", func(s Stats) uint64 { return s.Subscriptions }),
		telemetry.Counter("push_sent_total", "Notifications sent.", func(s Stats) uint64 { return s.Sent }),
		telemetry.Counter("push_dropped_total", "Connections closed because of slow readers.",
			func(s Stats) uint64 { return s.Dropped }),
		telemetry.Counter("push_displaced_total", "Connections closed in favour of other client addresses.",
			func(s Stats) uint64 { return s.Displaced }),
	}
}
