package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Number is what a metric's value can be read as.
type Number interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64 | ~float64
}

// Metric is one value of a part of the node, whose state at a scrape is an S.
type Metric[S any] struct {
	name, help string
	label      string // empty: one value without labels
	kind       prometheus.ValueType
	read       func(state S, emit func(value float64, label string))
}

// Gauge is a value that goes up and down. The name is without its prefix; Prometheus' conventions hold
// (https://prometheus.io/docs/practices/naming/).
func Gauge[S any, N Number](name, help string, read func(S) N) Metric[S] {
	return single(prometheus.GaugeValue, name, help, read)
}

// KnownGauge is a [Gauge] that is absent while read says that its value is not known.
func KnownGauge[S any, N Number](name, help string, read func(S) (value N, known bool)) Metric[S] {
	return Metric[S]{name: name, help: help, kind: prometheus.GaugeValue, read: func(s S, emit func(float64, string)) {
		if value, known := read(s); known {
			emit(float64(value), "")
		}
	}}
}

// Counter is a value that only grows while the process runs.
func Counter[S any, N Number](name, help string, read func(S) N) Metric[S] {
	return single(prometheus.CounterValue, name, help, read)
}

func single[S any, N Number](kind prometheus.ValueType, name, help string, read func(S) N) Metric[S] {
	return Metric[S]{name: name, help: help, kind: kind, read: func(state S, emit func(float64, string)) {
		emit(float64(read(state)), "")
	}}
}

// Gauges are values that go up and down, by a label.
func Gauges[S any, N Number](name, help, label string, read func(S) map[string]N) Metric[S] {
	return labelled(prometheus.GaugeValue, name, help, label, read)
}

// Counters are values that only grow, by a label. Its values must be few and not of a client's choice.
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

// Register adds metrics of a part of the node. At each scrape the part is asked for its state once, so that its metrics
// fit together. It panics if a name is there already.
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

// reader is a prometheus.Collector of a part's metrics.
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
