// Package cputime measures processor time, which other load on the machine affects less than wall-clock time.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Used returns the processor time, in user and kernel mode, that all threads of the process have used so far.
func Used() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// Meter adds up the processor time of parts of a benchmark.
type Meter struct {
	b           *testing.B
	began, used time.Duration
}

// Start returns a running meter.
func Start(b *testing.B) *Meter {
	m := &Meter{b: b}
	m.Resume()
	return m
}

// Resume begins a measured part.
func (m *Meter) Resume() { m.began = m.now() }

// Pause ends a measured part.
func (m *Meter) Pause() { m.used += m.now() - m.began }

func (m *Meter) now() time.Duration {
	used, err := Used()
	if err != nil {
		m.b.Fatal(err)
	}
	return used
}

// Report ends the last part and reports a metric of the benchmark: the processor time per operation, for n operations,
// in the given unit.
func (m *Meter) Report(n int, unit time.Duration, name string) {
	m.Pause()
	m.b.ReportMetric(float64(m.used)/float64(unit)/float64(n), name)
}
