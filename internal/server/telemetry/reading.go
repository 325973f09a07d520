package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Number is a type of metric values.
type Number interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64 | ~float64
}

// Metric is one metric of a part of the node. S is the state of that part at a scrape.
type Metric[S any] struct {
	name, help string
	label      string // empty: a single value without labels
	kind       prometheus.ValueType
	read       func(state S, emit func(value float64, label string))
}

// Gauge returns a metric whose value goes up and down. The name must omit the namespace, and otherwise follow
// Prometheus' conventions (https://prometheus.io/docs/practices/naming/).
func Gauge[S any, N Number](name, help string, read func(S) N) Metric[S] {
	return single(prometheus.GaugeValue, name, help, read)
}

// KnownGauge is like [Gauge], but the metric is absent while read reports its value as unknown.
func KnownGauge[S any, N Number](name, help string, read func(S) (value N, known bool)) Metric[S] {
	return Metric[S]{name: name, help: help, kind: prometheus.GaugeValue, read: func(s S, emit func(float64, string)) {
		if value, known := read(s); known {
			emit(float64(value), "")
		}
	}}
}

// Counter returns a metric whose value only grows while the process runs.
func Counter[S any, N Number](name, help string, read func(S) N) Metric[S] {
	return single(prometheus.CounterValue, name, help, read)
}

func single[S any, N Number](kind prometheus.ValueType, name, help string, read func(S) N) Metric[S] {
	return Metric[S]{name: name, help: help, kind: kind, read: func(state S, emit func(float64, string)) {
		emit(float64(read(state)), "")
	}}
}

// Gauges returns a metric with a gauge for each value of a label.
func Gauges[S any, N Number](name, help, label string, read func(S) map[string]N) Metric[S] {
	return labelled(prometheus.GaugeValue, name, help, label, read)
}

// Counters returns a metric with a counter for each value of a label. The values must be few and not chosen by clients.
func Counters[S any, N Number](name, help, label string, read func(S) map[string]N) Metric[S] {
	return labelled(prometheus.CounterValue, name, help, label, read)
}

func labelled[S any, N Number](
	kind prometheus.ValueType, name, help, label string, read func(S) map[string]N,
) Metric[S] {
	return Metric[S]{name: name, help: help, label: label, kind: kind, read: func(state S, emit func(float64, string)) {
		for value, number := range read(state) {
			emit(float64(number), value)
		}
	}}
}

// Register adds metrics of a part of the node. Each scrape reads the part's state once, so that its metrics are
// consistent. Register panics if a name is taken.
func Register[S any](t *Telemetry, state func() S, metrics ...Metric[S]) {
	r := &reader[S]{state: state, metrics: metrics}
	for _, m := range metrics {
		var labels []string
		if m.label != "" {
			labels = []string{m.label}
		}
		r.descs = append(r.descs, prometheus.NewDesc(prometheus.BuildFQName(namespace, "", m.name), m.help, labels, nil))
	}
	t.registry.MustRegister(r)
}

// reader is a prometheus.Collector for the metrics of one part.
type reader[S any] struct {
	state   func() S
	metrics []Metric[S]
	descs   []*prometheus.Desc
}

// Describe implements prometheus.Collector.
func (r *reader[S]) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range r.descs {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (r *reader[S]) Collect(values chan<- prometheus.Metric) {
	state := r.state()
	for i, m := range r.metrics {
		m.read(state, func(value float64, label string) {
			if m.label == "" {
				values <- prometheus.MustNewConstMetric(r.descs[i], m.kind, value)
				return
			}
			values <- prometheus.MustNewConstMetric(r.descs[i], m.kind, value, label)
		})
	}
}
