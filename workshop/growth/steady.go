package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/tree"
)

// updatesPerBlock is the number of accounts that a block of updates writes.
const updatesPerBlock = 10_000

// steady holds the cost of consecutive blocks of updates without pauses, over a time that includes the database's
// flushes and compactions.
type steady struct {
	blocks            []phases
	written           uint64 // bytes written to log and tables for all blocks
	logged            uint64 // part of written for the log: each row once
	readAmplification int    // at the end
	stalls            int64
}

// steady makes a number of blocks of updates.
func (g *grown) steady(o *opened, t *tree.Tree, random *rand.Rand, blocks int) (*steady, error) {
	before := o.db.Metrics()
	took, err := g.update(o, t, random, blocks, func() {})
	if err != nil {
		return nil, err
	}
	after := o.db.Metrics()
	return &steady{
		blocks: took, written: after.WrittenBytes - before.WrittenBytes, logged: after.LoggedBytes - before.LoggedBytes,
		readAmplification: after.ReadAmplification, stalls: after.WriteStalls - before.WriteStalls,
	}, nil
}

// table returns the figures in Markdown.
func (s *steady) table(leaves int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%d blocks of %d updates one right after the other, %d leaves:\n\n",
		len(s.blocks), updatesPerBlock, leaves)
	text.WriteString("| | median | p99 | longest |\n|---|---|---|---|\n")
	for _, row := range []struct {
		name string
		of   func(phases) time.Duration
	}{
		{"root and synced commit, ms", phases.all},
		{"root, ms", func(p phases) time.Duration { return p.root }},
		{"synced commit, ms", func(p phases) time.Duration { return p.store }},
	} {
		fmt.Fprintf(&text, "| %s |", row.name)
		for _, q := range []float64{0.5, 0.99, 1} {
			fmt.Fprintf(&text, " %.1f |", milliseconds(row.of(quantile(s.blocks, q, row.of))))
		}
		text.WriteString("\n")
	}
	per := float64(len(s.blocks)) * (1 << 20)
	fmt.Fprintf(&text, "\nA block's rows take %.1f MiB in the log; "+
		"%.1f MiB a block were written in all, compaction included. "+
		"At the end a read may ask %d levels; writing stalled %d times.\n",
		float64(s.logged)/per, float64(s.written)/per, s.readAmplification, s.stalls)
	return text.String()
}
