package loadgen

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report holds the measurements of a run.
type Report struct {
	Load           Load        `json:"load"`
	URL            string      `json:"url"`
	Connections    int         `json:"connections"`
	Batch          int         `json:"batch"`       // calls per request
	OfferedRate    float64     `json:"offeredRate"` // calls per second of an open loop; 0 for a closed loop
	Seconds        float64     `json:"seconds"`     // from the start to the last response
	Requests       int64       `json:"requests"`    // with a response
	Calls          int64       `json:"calls"`       // successful
	CallsPerSecond float64     `json:"callsPerSecond"`
	Latency        Percentiles `json:"latency"` // per request; in an open loop from the scheduled time
	// most frequent first, including refused calls that were retried
	Errors      []ErrorCount    `json:"errors"`
	Inclusion   *Inclusion      `json:"inclusion,omitempty"` // for loads with transfers
	Audience    *AudienceReport `json:"audience,omitempty"`  // for loads with subscribers
	Interrupted bool            `json:"interrupted"`
}

// Inclusion summarizes the outcome of a run's transactions.
type Inclusion struct {
	Accepted int64 `json:"accepted"` // acknowledged by the node
	Included int64 `json:"included"` // in a block
	Blocks   int   `json:"blocks"`   // with transactions of the run
	// PerSecond is the rate between the first block and the last full one; null for fewer than three blocks.
	PerSecond *float64    `json:"perSecond"`
	Latency   Percentiles `json:"latency"` // from sending until the block was seen
}

// Percentiles are durations in milliseconds.
type Percentiles struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// ErrorCount counts one kind of error.
type ErrorCount struct {
	Code    string `json:"code"` // JSON-RPC code; "HTTP" and the status; "connection", "answer" or "blocks"
	Count   int64  `json:"count"`
	Example string `json:"example"` // message of the first one
}

// percentiles converts a histogram of nanoseconds.
func percentiles(h *hdrhistogram.Histogram) Percentiles {
	at := func(percentile float64) float64 {
		return float64(h.ValueAtPercentile(percentile)) / float64(time.Millisecond)
	}
	return Percentiles{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: at(100)}
}

// report adds up the counts of the workers after a run of a given duration.
func (r *measurement) report(elapsed time.Duration) Report {
	report := Report{
		Load:        r.plan.Load,
		URL:         r.options.URL,
		Connections: len(r.workers),
		Batch:       r.options.Batch,
		OfferedRate: r.options.Rate,
		Seconds:     elapsed.Seconds(),
		Errors:      []ErrorCount{},
	}
	latency := newHistogram()
	errors := map[string]*ErrorCount{}
	for _, w := range r.workers {
		report.Requests += w.requestCount.Load()
		report.Calls += w.done.Load()
		latency.Merge(w.latency)
		for code, e := range w.errors {
			if errors[code] == nil {
				errors[code] = &ErrorCount{Code: code, Example: e.Example}
			}
			errors[code].Count += e.Count
		}
	}
	if elapsed > 0 {
		report.CallsPerSecond = float64(report.Calls) / elapsed.Seconds()
	}
	report.Latency = percentiles(latency)
	report.Errors = ranked(errors)
	return report
}

// ranked returns counts in descending order.
func ranked(counts map[string]*ErrorCount) []ErrorCount {
	list := []ErrorCount{}
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, *counts[code])
	}
	slices.SortStableFunc(list, func(a, b ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// accepted returns the number of transactions that the node acknowledged.
func (r *measurement) accepted() (count int64) {
	for _, s := range r.submissions {
		if s.accepted {
			count++
		}
	}
	return count
}
