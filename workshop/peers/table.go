package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/kit/loadgen"
)

// row is a row of the table.
type row struct {
	name  string
	less  bool // less is better
	value func(loadgen.Report) (float64, bool)
}

// The rows.
var (
	includedBatched = row{"transfers included a second, batches of 100", false, included}
	includedSingly  = row{"transfers included a second, one a request", false, included}
	acceptedBatched = row{"transfers accepted a second, batches of 100", false, rate}
	acceptedSingly  = row{"transfers accepted a second, one a request", false, rate}
	balances        = row{"balances read a second, 32 connections", false, rate}
	balancesP99     = row{
		"99 % of them within, in ms", true, func(r loadgen.Report) (float64, bool) { return r.Latency.P99, true },
	}
	balancesBatched = row{"balances read a second, batches of 100", false, rate}

	allRows = []row{
		includedBatched, includedSingly, acceptedBatched, acceptedSingly, balances, balancesP99, balancesBatched,
	}
)

func rate(r loadgen.Report) (float64, bool) { return r.CallsPerSecond, true }

// included returns the rate of inclusion, if there were enough blocks.
func included(r loadgen.Report) (float64, bool) {
	if r.Inclusion == nil || r.Inclusion.PerSecond == nil {
		return 0, false
	}
	return *r.Inclusion.PerSecond, true
}

// sample holds a node's measurements by row.
type sample map[string][]float64

// writeTable writes each row with the median of each node and, for the peers, the ratio by which Cairn is better.
func writeTable(to io.Writer, s settings, peers []peer, samples []sample) error {
	var text strings.Builder
	fmt.Fprintf(&text,
		"%d senders × %d transfers, 16 connections, blocks every second; medians of %d runs, the nodes by turns. In "+
			"brackets: how many times as good Cairn is.\n\n|  |", s.senders, s.perSender, s.rounds)
	for _, p := range peers {
		fmt.Fprintf(&text, " %s |", p.name)
	}
	text.WriteString("\n|---|" + strings.Repeat("---|", len(peers)) + "\n")
	for _, r := range allRows {
		fmt.Fprintf(&text, "| %s |", r.name)
		own, measured := median(samples[0][r.name])
		for i := range peers {
			value, ok := median(samples[i][r.name])
			switch {
			case !ok:
				text.WriteString(" – |")
			case i == 0 || !measured:
				fmt.Fprintf(&text, " %s |", figure(value))
			case r.less:
				fmt.Fprintf(&text, " %s (%.1f) |", figure(value), value/own)
			default:
				fmt.Fprintf(&text, " %s (%.1f) |", figure(value), own/value)
			}
		}
		text.WriteString("\n")
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// median returns the median of values: for an even number, the mean of the two middle ones.
func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2, true
	}
	return sorted[middle], true
}

func figure(value float64) string {
	if value < 100 {
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.0f", value)
}
