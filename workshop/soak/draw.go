package main

import (
	"fmt"
	"os"

	"github.com/cairn-chain/cairn/workshop/internal/plot"
)

// diagrams shows how the columns of the table change over time.
type diagrams struct {
	minutes   float64
	transfers float64 // included so far
	rate      plot.Plot
	request   plot.Plot
	interval  plot.Plot
	// One line for each node:
	memory, handles, disk plot.Plot
}

func newDiagrams(followers int) *diagrams {
	one := func(title, unit string, names ...string) plot.Plot {
		p := plot.Plot{Title: title, X: "minutes", Y: unit}
		for _, name := range names {
			p.Series = append(p.Series, plot.Series{Name: name})
		}
		return p
	}
	nodes := []string{"the node"}
	for i := range followers {
		nodes = append(nodes, fmt.Sprintf("follower %d", i+1))
	}
	return &diagrams{
		rate:     one("Transfers included a second", "", "included"),
		request:  one("Time of a request", "ms", "half within", "99 % within"),
		interval: one("Longest time between two blocks", "s", "longest of a window"),
		memory:   one("Resident memory", "MB", nodes...),
		handles:  one("Open files and connections", "", nodes...),
		disk:     one("Disk a transfer since the start", "B", nodes...),
	}
}

func (d *diagrams) put(p *plot.Plot, line int, value float64) {
	s := &p.Series[line]
	s.Points = append(s.Points, plot.Point{X: d.minutes, Y: value})
}

// add adds the outcome of a window, the next one. A window lasts longer than planned if the load cannot be signed or sent
// in time.
func (d *diagrams) add(o outcome) {
	d.minutes += o.report.Seconds / 60
	included := float64(o.report.Inclusion.Included)
	d.transfers += included
	d.put(&d.rate, 0, included/o.report.Seconds)
	d.put(&d.request, 0, o.report.Latency.P50)
	d.put(&d.request, 1, o.report.Latency.P99)
	d.put(&d.interval, 0, o.longest)
	d.addHeld(0, o.held)
}

// addHeld adds the resources of a node: 0, or a follower's number from 1 on.
func (d *diagrams) addHeld(node int, h held) {
	d.put(&d.memory, node, h.memory)
	d.put(&d.handles, node, h.handles)
	d.put(&d.disk, node, h.disk*1e6/max(1, d.transfers))
}

// write writes the diagrams to a file, unless its name is empty.
func (d *diagrams) write(file string) error {
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(plot.SVG(2, d.rate, d.request, d.interval, d.memory, d.handles, d.disk)), 0o644)
}
