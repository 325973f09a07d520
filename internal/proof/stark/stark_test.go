package stark

import (
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

func TestHeader(t *testing.T) {
	for level := range Levels {
		for logRows := MinLogRows; logRows <= Levels[level].Most; logRows++ {
			want := Header{level, logRows}
			if got, err := ReadHeader(transcript.NewReader(want.Append(nil))); err != nil || got != want {
				t.Errorf("%+v comes back as %+v, error %v", want, got, err)
			}
		}
	}
	for name, b := range map[string][]byte{
		"version 0": {0, 0, 10}, "version 2": {2, 0, 10}, "a level too high": {1, byte(len(Levels)), 10},
		"too few rows": {1, 0, MinLogRows - 1}, "too many rows": {1, 0, MaxLogRows + 1},
		"too many rows for the level": {1, 1, MaxLogRows}, "2^255 rows": {1, 0, 255},
	} {
		if h, err := ReadHeader(transcript.NewReader(b)); !errors.Is(err, ErrHeader) {
			t.Errorf("%s: got %+v, error %v, want %v", name, h, err, ErrHeader)
		}
	}
	if _, err := ReadHeader(transcript.NewReader([]byte{1, 0})); !errors.Is(err, transcript.ErrShort) {
		t.Errorf("two bytes: error %v, want %v", err, transcript.ErrShort)
	}
}

// TestOldLevels: nodes have stored proofs of these levels, so verifiers still accept them.
func TestOldLevels(t *testing.T) {
	for number, want := range []struct{ logBlowup, queries int }{{2, 82}, {2, 110}, {3, 74}, {4, 56}} {
		p := fri.Parameters{LogBlowup: want.logBlowup, LogFinal: 9, Grinding: 20, Queries: want.queries}
		if got := Levels[number]; got.Parameters != p || got.Most < 17 {
			t.Errorf("level %d is %+v", number, got)
		}
	}
}

// TestLevelOf: a level has the largest blowup that its rows allow; a number of bits that no level has is refused.
func TestLevelOf(t *testing.T) {
	for _, c := range []struct{ bits, logRows, want int }{
		{100, MinLogRows, 0}, {100, MaxLogRows, 0}, {MaxBits, MaxLogRows, 2}, {MaxBits, 17, 2}, {MaxBits, 16, 4},
		{MaxBits, 14, 4}, {MaxBits, 13, 5}, {MaxBits, MinLogRows, 5}, {101, 10, -1}, {MaxBits + 1, 10, -1},
	} {
		if got := LevelOf(c.bits, c.logRows); got != c.want {
			t.Errorf("%d bits, 2^%d rows: level %d, want %d", c.bits, c.logRows, got, c.want)
		}
	}
	for bits, want := range map[int]int{100: 0, MaxBits: 1, 101: -1} {
		got := QuickLevelOf(bits)
		if got != want || got >= 0 && Levels[got].Most < MaxQuickLogRows {
			t.Errorf("%d bits: quick level %d, want %d", bits, got, want)
		}
	}
	for i, level := range Levels {
		if level.Most > MaxLogRows || level.Chosen > level.Most {
			t.Errorf("level %d is for 2^%d rows and chosen for 2^%d", i, level.Most, level.Chosen)
		}
		if level.Bits > MaxBits {
			t.Errorf("level %d has %d bits, the most is said to be %d", i, level.Bits, MaxBits)
		}
	}
}

// circuit has three columns, whose last is read on the next row, and a bus with two helper columns.
func circuit() (*air.Circuit, air.Bus) {
	b := air.NewBuilder()
	bus := b.Bus("bus", 2)
	c, in := b.Columns("column", 3), b.Publics(1)
	b.Constrain("constraint", c[0].Mul(c[1]).Mul(c[2].Next()).Sub(in[0]))
	for range 3 {
		bus.Send(c[0], c[0], c[1])
	}
	return b.Build(), bus
}

func TestShape(t *testing.T) {
	c, _ := circuit()
	s := ShapeOf(c)
	if s.Columns != 3 || s.Aux != 2 || !slices.Equal(s.Next, []int{2}) || !slices.Equal(s.AuxNext, []int{1}) {
		t.Fatalf("shape %+v", s)
	}
	values := make([]field.Ext, s.AtPoint()+s.AtNext())
	for i := range values {
		values[i] = field.Lift(field.New(uint64(i)))
	}
	o, at := s.Split(values), 0
	for _, part := range []struct {
		name   string
		values []field.Ext
		n      int
	}{
		{"columns", o.Columns, 3}, {"helpers", o.Aux, 2}, {"chunks", o.Chunks, 2}, {"next", o.Next, 1},
		{"next helpers", o.AuxNext, 1},
	} {
		if len(part.values) != part.n || !slices.Equal(part.values, values[at:at+part.n]) {
			t.Errorf("%s: got %v", part.name, part.values)
		}
		at += part.n
	}
}

func TestCheck(t *testing.T) {
	c, bus := circuit()
	tuple := make([]field.Element, 3)
	for name, s := range map[string]Statement{
		"no public input":      {Circuit: c},
		"two public inputs":    {Circuit: c, Public: tuple[:2]},
		"an entry of 3 values": {Circuit: c, Public: tuple[:1], Terms: []air.Term{{Bus: bus, Tuple: tuple}}},
	} {
		if err := s.Check(); !errors.Is(err, ErrShape) {
			t.Errorf("%s: error %v, want %v", name, err, ErrShape)
		}
	}
	good := Statement{Circuit: c, Public: tuple[:1], Terms: []air.Term{{Bus: bus, Tuple: tuple[:2]}}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

// TestTranscriptSetsPartsApart moves elements from one part of a statement to the next.
func TestTranscriptSetsPartsApart(t *testing.T) {
	c, bus := circuit()
	x := []field.Element{field.New(1), field.New(1), field.New(1)}
	term := func(n int) air.Term { return air.Term{Bus: bus, Multiplicity: x[0], Tuple: x[:n]} }
	seen := map[field.Ext]string{}
	for name, s := range map[string]Statement{
		"nothing":           {Circuit: c},
		"context":           {Circuit: c, Context: []byte{1, 0, 0, 0}},
		"public":            {Circuit: c, Public: x[:1]},
		"entry of 1":        {Circuit: c, Terms: []air.Term{term(1)}},
		"entry of 2":        {Circuit: c, Terms: []air.Term{term(2)}},
		"entries of 1":      {Circuit: c, Terms: []air.Term{term(1), term(1)}},
		"public and entry":  {Circuit: c, Public: x[:1], Terms: []air.Term{term(1)}},
		"context and entry": {Circuit: c, Context: []byte{1, 0, 0, 0}, Terms: []air.Term{term(1)}},
		"another circuit":   {Circuit: c.Without(0)},
	} {
		for level := range Levels {
			for logRows := 3; logRows < 5; logRows++ {
				first := s.Transcript(Levels[level].Parameters, logRows).Ext()
				if other, ok := seen[first]; ok {
					t.Errorf("%s, level %d, 2^%d rows draws what %s does", name, level, logRows, other)
				}
				seen[first] = name
			}
		}
	}
}
