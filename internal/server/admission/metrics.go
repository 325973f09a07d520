package admission

import "github.com/cairn-chain/cairn/internal/server/telemetry"

// Metrics returns the metrics of running and waiting requests.
func Metrics() []telemetry.Metric[Stats] {
	classes := func(of func(Load) float64) func(Stats) map[string]float64 {
		return func(s Stats) map[string]float64 {
			return map[string]float64{"arrivals": of(s.Arrivals), "short": of(s.Short), "long": of(s.Long)}
		}
	}
	return []telemetry.Metric[Stats]{
		telemetry.Gauges("admission_running", "Requests being computed, by class.", "class",
			classes(func(l Load) float64 { return float64(l.Running) })),
		telemetry.Gauges("admission_waiting", "Requests waiting for admission, by class.", "class",
			classes(func(l Load) float64 { return float64(l.Waiting) })),
		telemetry.Counters("admission_seconds_total", "Computing time of requests, by class; processor time for long "+
			"requests.", "class", classes(func(l Load) float64 { return l.Used.Seconds() })),
		telemetry.Counter("admission_dropped_total", "Requests dropped because their client had disconnected.",
			func(s Stats) uint64 { return s.Dropped }),
	}
}
