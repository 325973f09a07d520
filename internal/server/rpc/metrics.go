package rpc

import "github.com/cairn-chain/cairn/internal/server/telemetry"

// Metrics returns the metrics of simulated calls.
func Metrics() []telemetry.Metric[Stats] {
	return []telemetry.Metric[Stats]{
		telemetry.Gauge("simulations_running", "View calls, calls and estimates in execution.",
			func(s Stats) int { return s.Running }),
		telemetry.Counter("simulations_total", "View calls, calls and estimates executed.",
			func(s Stats) uint64 { return s.Ended }),
		telemetry.Counter("simulations_stopped_total",
			"View calls, calls and estimates aborted, because of their time limit or a disconnected client.",
			func(s Stats) uint64 { return s.Stopped }),
		telemetry.Counter("simulation_seconds_total", "Total execution time of view calls, calls and estimates.",
			func(s Stats) float64 { return s.Took.Seconds() }),
	}
}
