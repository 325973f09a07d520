package rpc

import "github.com/cairn-chain/cairn/internal/server/telemetry"

// Metrics returns the metrics of simulated calls.
func Metrics() []telemetry.Metric[Stats] {
	return []telemetry.Metric[Stats]{
		telemetry.Gauge("simulations_running", "View calls, calls and estimates that execute.",
			func(s Stats) int { return s.Running }),
		telemetry.Counter("simulations_total", "View calls, calls and estimates that executed.",
			func(s Stats) uint64 { return s.Ended }),
		telemetry.Counter("simulations_stopped_total",
			"Of these, those that were ended because their time was up or nobody waited.",
			func(s Stats) uint64 { return s.Stopped }),
		telemetry.Counter("simulation_seconds_total", "Time that they executed, all together.",
			func(s Stats) float64 { return s.Took.Seconds() }),
	}
}
