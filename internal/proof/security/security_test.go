package security

import (
	"math"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// TestAgreesWithSoundcalc compares the bounds with the output of the Ethereum Foundation's calculator for this field,
// rate 1/4, 371 batched functions and 20 bits of grinding.
func TestAgreesWithSoundcalc(t *testing.T) {
	for _, c := range []struct {
		queries, logRows, m   int
		bits, batching, query int
	}{
		{80, 15, 50, 98, 129, 98},
		{82, 15, 50, 100, 129, 100},
		{82, 20, 50, 100, 124, 100},
		{114, 20, 16, 128, 132, 128},
		{112, 17, 20, 128, 134, 128},
		{111, 20, 50, 124, 124, 129},
	} {
		got := At(fri.Parameters{LogBlowup: 2, LogFinal: 9, Grinding: 20, Queries: c.queries},
			Circuit{
				LogRows:     c.logRows,
				Functions:   371,
				Constraints: 371,
				Degree:      3,
				Entries:     1 << 22,
				Width:       20,
			}, c.m)
		if got.Bits() != c.bits || int(got.Batching) != c.batching || int(got.Query) != c.query {
			t.Errorf(
				"%d queries, 2^%d rows, m = %d: %v; want %d bits, batching %d, query %d", c.queries, c.logRows, c.m,
				got, c.bits, c.batching, c.query,
			)
		}
		t.Logf("%d queries, 2^%d rows: %v", c.queries, c.logRows, got)
	}
}

// TestTermsMoveTheRightWay changes one figure at a time for the worse.
func TestTermsMoveTheRightWay(t *testing.T) {
	p := fri.Parameters{LogBlowup: 2, LogFinal: 9, Grinding: 20, Queries: 114}
	c := Circuit{
		LogRows:     17,
		Functions:   300,
		Constraints: 400,
		Degree:      3,
		Entries:     1 << 20,
		Width:       8,
	}
	base := At(p, c, 16)
	for name, change := range map[string]struct {
		apply func(p *fri.Parameters, c *Circuit)
		term  func(t Terms) float64
	}{
		"constraints": {func(_ *fri.Parameters, c *Circuit) { c.Constraints *= 2 }, func(t Terms) float64 { return t.ALI }},
		"degree":      {func(_ *fri.Parameters, c *Circuit) { c.Degree++ }, func(t Terms) float64 { return t.DEEP }},
		"entries":     {func(_ *fri.Parameters, c *Circuit) { c.Entries *= 2 }, func(t Terms) float64 { return t.LogUp }},
		"width":       {func(_ *fri.Parameters, c *Circuit) { c.Width *= 2 }, func(t Terms) float64 { return t.LogUp }},
		"functions": {
			func(_ *fri.Parameters, c *Circuit) { c.Functions *= 2 }, func(t Terms) float64 { return t.Batching },
		},
		"rows":     {func(_ *fri.Parameters, c *Circuit) { c.LogRows++ }, func(t Terms) float64 { return t.Folding }},
		"queries":  {func(p *fri.Parameters, _ *Circuit) { p.Queries-- }, func(t Terms) float64 { return t.Query }},
		"grinding": {func(p *fri.Parameters, _ *Circuit) { p.Grinding-- }, func(t Terms) float64 { return t.Query }},
		"blowup":   {func(p *fri.Parameters, _ *Circuit) { p.LogBlowup-- }, func(t Terms) float64 { return t.Query }},
	} {
		q, d := p, c
		change.apply(&q, &d)
		if got, was := change.term(At(q, d, 16)), change.term(base); !(got < was) || math.IsInf(got, 0) {
			t.Errorf("%s: %v, before %v", name, got, was)
		}
	}
	if best := Best(p, c); best.Bits() < base.Bits() {
		t.Errorf("best is %v, with m = 16 it is %v", best, base)
	}
}

// TestLevelsKeepTheirWord checks the bits of each level for the largest accepted trace. The circuit is larger than any
// that is proven: 240 columns, as many constraints and 20 interactions of 32 values.
func TestLevelsKeepTheirWord(t *testing.T) {
	b := air.NewBuilder()
	columns := b.Columns("column", 240)
	bus := b.Bus("bus", 32)
	for i, column := range columns {
		b.Constrain("bit", column.Mul(column.Not()).Mul(columns[i%60].Next()))
	}
	for i := range 20 {
		bus.Send(columns[i], columns[:32]...)
	}
	c := b.Build()
	for number, level := range stark.Levels {
		figures := Of(c, level.Most, 1<<level.Most)
		if figures.Functions != 240+10+stark.Chunks+60+1 || figures.Entries != 21<<level.Most || figures.Width != 33 {
			t.Fatalf("figures %+v", figures)
		}
		terms := Best(level.Parameters, figures)
		t.Logf("level %d, %d queries, 2^%d rows: %v", number, level.Queries, level.Most, terms)
		if terms.Bits() < level.Bits {
			t.Errorf("%d queries: %v, want %d bits", level.Queries, terms, level.Bits)
		}
	}
}
