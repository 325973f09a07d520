// Package cputime tells what measurements take of the processor, which others on the machine change less than the time
// of the clock.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Used is what the process has used so far, of all its threads, in user and kernel mode.
func Used() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// Meter adds up what parts of a benchmark use.
type Meter struct {
	b           *testing.B
	began, used time.Duration
}

// Start makes a meter that runs.
func Start(b *testing.B) *Meter {
	m := &Meter{b: b}
	m.Resume()
	return m
}

// Resume begins another part.
func (m *Meter) Resume() { m.began = m.now() }

// Pause ends the part.
func (m *Meter) Pause() { m.used += m.now() - m.began }

func (m *Meter) now() time.Duration {
	used, err := Used()
	if err != nil {
		m.b.Fatal(err)
	}
	return used
}

// Report ends the last part and adds a metric to the benchmark: what one of n operations used, in a unit of so long.
func (m *Meter) Report(n int, unit time.Duration, name string) {
	m.Pause()
	m.b.ReportMetric(float64(m.used)/float64(unit)/float64(n), name)
}
