package air_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
)

// fibonacci is a toy: a row holds two neighbours of the sequence that begins as the public inputs say, and the third
// public input is the last row's second.
func fibonacci() *air.Circuit {
	b := air.NewBuilder()
	x, y := b.Column("x"), b.Column("y")
	in := b.Publics(3)
	b.Constrain("begin x", b.First().Mul(x.Sub(in[0])))
	b.Constrain("begin y", b.First().Mul(y.Sub(in[1])))
	b.Constrain("shift", b.Last().Not().Mul(x.Next().Sub(y)))
	b.Constrain("add", b.Last().Not().Mul(y.Next().Sub(x).Sub(y)))
	b.Constrain("end", b.Last().Mul(y.Sub(in[2])))
	return b.Build()
}

func vector(values ...uint64) field.Vector {
	v := make(field.Vector, len(values))
	for i := range v {
		v[i] = field.New(values[i])
	}
	return v
}

func TestCheckConstraints(t *testing.T) {
	c := fibonacci()
	good := []field.Vector{vector(1, 2, 3, 5), vector(2, 3, 5, 8)}
	public := vector(1, 2, 8)
	if err := c.Check(good, public, nil); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		columns []field.Vector
		public  field.Vector
		want    air.Violation
	}{
		{"begin x", []field.Vector{vector(2, 2, 3, 5), good[1]}, public, air.Violation{"begin x", 0}},
		{"begin y", []field.Vector{good[0], vector(3, 3, 5, 8)}, public, air.Violation{"begin y", 0}},
		{"shift", []field.Vector{vector(1, 2, 4, 5), good[1]}, public, air.Violation{"shift", 1}},
		{"add", []field.Vector{good[0], vector(2, 3, 5, 9)}, vector(1, 2, 9), air.Violation{"add", 2}},
		{"end", good, vector(1, 2, 9), air.Violation{"end", 3}},
	} {
		var v *air.Violation
		if err := c.Check(test.columns, test.public, nil); !errors.As(err, &v) || *v != test.want {
			t.Errorf("%s: %v, want %v", test.name, err, &test.want)
		}
		i := slices.IndexFunc(c.Constraints(), func(c air.Constraint) bool { return c.Name == test.name })
		if err := c.Without(i).Check(test.columns, test.public, nil); errors.As(err, &v) && v.Constraint == test.name {
			t.Errorf("%s deleted: error %v", test.name, err)
		}
	}
	for _, columns := range [][]field.Vector{nil, good[:1], {good[0], good[1][:3]}, {{}, {}}} {
		if err := c.Check(columns, public, nil); !errors.Is(err, air.ErrShape) {
			t.Errorf("%v: error %v, want %v", columns, err, air.ErrShape)
		}
	}
	if err := c.Check(good, public[:2], nil); !errors.Is(err, air.ErrShape) {
		t.Errorf("public inputs: error %v, want %v", err, air.ErrShape)
	}
}

// sorting is a toy circuit with a bus: the rows send pairs (x, y), and the public side receives them.
func sorting() (*air.Circuit, air.Bus) {
	b := air.NewBuilder()
	bus := b.Bus("pairs", 2)
	x, y, on := b.Column("x"), b.Column("y"), b.Column("on")
	b.Constrain("on is a bit", on.Mul(on.Not()))
	bus.Send(on, x, y)
	bus.Send(b.First(), x, x)
	bus.Receive(b.First(), x, x)
	return b.Build(), bus
}

func receive(bus air.Bus, pairs ...[2]uint64) []air.Term {
	var terms []air.Term
	one := field.New(1)
	one.Neg(&one)
	for _, p := range pairs {
		terms = append(terms, air.Term{Bus: bus, Multiplicity: one, Tuple: vector(p[0], p[1])})
	}
	return terms
}

func TestCheckBuses(t *testing.T) {
	c, bus := sorting()
	columns := []field.Vector{vector(1, 2, 3, 4), vector(5, 6, 7, 8), vector(1, 1, 0, 1)}
	if err := c.Check(columns, nil, receive(bus, [2]uint64{4, 8}, [2]uint64{1, 5}, [2]uint64{2, 6})); err != nil {
		t.Fatal(err)
	}
	for name, terms := range map[string][]air.Term{
		"one left out": receive(bus, [2]uint64{4, 8}, [2]uint64{1, 5}),
		"one more":     receive(bus, [2]uint64{4, 8}, [2]uint64{1, 5}, [2]uint64{2, 6}, [2]uint64{3, 7}),
		"one twice":    receive(bus, [2]uint64{4, 8}, [2]uint64{1, 5}, [2]uint64{2, 6}, [2]uint64{2, 6}),
		"swapped":      receive(bus, [2]uint64{8, 4}, [2]uint64{1, 5}, [2]uint64{2, 6}),
	} {
		var imbalance *air.Imbalance
		if err := c.Check(columns, nil, terms); !errors.As(err, &imbalance) || imbalance.Bus != "pairs" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	terms := receive(bus, [2]uint64{4, 8})
	terms[0].Tuple = terms[0].Tuple[:1]
	if err := c.Check(columns, nil, terms); !errors.Is(err, air.ErrShape) {
		t.Errorf("a short tuple: error %v, want %v", err, air.ErrShape)
	}
}

// pairs are columns for the sorting toy; alpha and beta are some challenges.
var (
	pairs = []field.Vector{vector(1, 2, 3, 4), vector(5, 6, 7, 8), vector(1, 1, 0, 1)}
	alpha = field.FromCoordinates([6]field.Element(vector(3, 1, 4, 1, 5, 9)))
	beta  = field.FromCoordinates([6]field.Element(vector(2, 7, 1, 8, 2, 8)))
)

// fillHelpers fills the sorting toy's helper column and accumulator for pairs by their definition. The accumulator has
// one more value, after the last row.
func fillHelpers(ch *air.Challenges) (helper, accumulator []field.Ext) {
	term := func(multiplicity, x, y uint64) (q field.Ext) {
		d := ch.Alpha
		for _, v := range []field.Ext{field.One(), mul(ch.Beta[0], x), mul(ch.Beta[1], y)} {
			d.Sub(&d, &v)
		}
		q.Inverse(&d)
		return mul(q, multiplicity)
	}
	helper, accumulator = make([]field.Ext, 4), make([]field.Ext, 5)
	for row := range helper {
		x, first := pairs[0][row].Uint64(), uint64(0)
		if row == 0 {
			first = 1
		}
		sent, diagonal := term(pairs[2][row].Uint64(), x, pairs[1][row].Uint64()), term(first, x, x)
		helper[row].Add(&sent, &diagonal)
		next := accumulator[row]
		next.Add(&next, &sent) // the diagonal is sent and received
		next.Sub(&next, &ch.Shift)
		accumulator[row+1] = next
	}
	return helper, accumulator
}

// violated returns the name of the first constraint that is not 0 on some row, or "" if there is none.
func violated(c *air.Circuit, ch *air.Challenges, helper, accumulator []field.Ext) string {
	for row := range helper {
		next := (row + 1) % len(helper)
		p := air.Point{Challenges: ch}
		for _, column := range pairs {
			p.Columns = append(p.Columns, field.Lift(column[row]))
			p.Next = append(p.Next, field.Lift(column[next]))
		}
		if row == 0 {
			p.First = field.One()
		}
		p.Aux = []field.Ext{helper[row], accumulator[row]}
		p.AuxNext = []field.Ext{helper[next], accumulator[next]}
		for i, v := range c.Evaluate(&p) {
			if !v.IsZero() {
				return c.Constraints()[i].Name
			}
		}
	}
	return ""
}

// TestBusConstraints: an unbalanced bus violates the accumulator's constraint, or a helper's if the gap is hidden
// there; where that constraint is deleted, it passes.
func TestBusConstraints(t *testing.T) {
	c, bus := sorting()
	challenges := func(last [2]uint64) *air.Challenges {
		ch, err := c.NewChallenges(alpha, beta, receive(bus, [2]uint64{4, 8}, [2]uint64{1, 5}, last), 2)
		if err != nil {
			t.Fatal(err)
		}
		return ch
	}
	ch := challenges([2]uint64{2, 6})
	helper, accumulator := fillHelpers(ch)
	if name := violated(c, ch, helper, accumulator); name != "" {
		t.Errorf("a balanced bus violates %q, want none", name)
	}
	without := func(name string) *air.Circuit {
		return c.Without(slices.IndexFunc(c.Constraints(), func(c air.Constraint) bool { return c.Name == name }))
	}
	ch = challenges([2]uint64{2, 7})
	helper, accumulator = fillHelpers(ch)
	if name := violated(c, ch, helper, accumulator); name != "bus accumulator" {
		t.Errorf("an unbalanced bus violates %q, want \"bus accumulator\"", name)
	}
	if name := violated(without("bus accumulator"), ch, helper, accumulator); name != "" {
		t.Errorf("without the accumulator's constraint it still violates %q, want none", name)
	}
	gap := accumulator[4]
	helper[0].Sub(&helper[0], &gap)
	for i := 1; i < len(accumulator); i++ {
		accumulator[i].Sub(&accumulator[i], &gap)
	}
	if name := violated(c, ch, helper, accumulator); name != "bus helper 0" {
		t.Errorf("a gap hidden in the helper violates %q, want \"bus helper 0\"", name)
	}
	if name := violated(without("bus helper 0"), ch, helper, accumulator); name != "" {
		t.Errorf("without the helper's constraint it still violates %q, want none", name)
	}
	if c.Degree() != 3 || c.AuxColumns() != 2 || c.Arity() != 2 {
		t.Errorf("degree %d, %d helper columns, arity %d", c.Degree(), c.AuxColumns(), c.Arity())
	}
}

func TestZeroFingerprint(t *testing.T) {
	c, bus := sorting()
	zeroes := liftSum(beta, field.New(4), field.New(8))
	if _, err := c.NewChallenges(*zeroes, beta, receive(bus, [2]uint64{4, 8}), 2); !errors.Is(err, air.ErrDenominator) {
		t.Errorf("a fingerprint of zero: error %v, want %v", err, air.ErrDenominator)
	}
	terms := receive(bus, [2]uint64{4, 8})
	terms[0].Tuple = append(terms[0].Tuple, field.New(0))
	if _, err := c.NewChallenges(beta, beta, terms, 2); !errors.Is(err, air.ErrTuple) {
		t.Errorf("a tuple longer than the circuit's: error %v, want %v", err, air.ErrTuple)
	}
}

// liftSum is 1 + β·x + β²·y, the α that makes the fingerprint of (x, y) zero.
func liftSum(beta field.Ext, x, y field.Element) *field.Ext {
	sum, square := field.One(), field.Ext{}
	square.Square(&beta)
	square.MulByElement(&square, &y)
	beta.MulByElement(&beta, &x)
	sum.Add(&sum, &beta)
	sum.Add(&sum, &square)
	return &sum
}

func mul(e field.Ext, k uint64) field.Ext {
	x := field.New(k)
	e.MulByElement(&e, &x)
	return e
}

func TestDigest(t *testing.T) {
	c := fibonacci()
	if c.Digest() != fibonacci().Digest() {
		t.Error("building twice gives two digests")
	}
	seen := map[[32]byte]bool{c.Digest(): true}
	for i := range c.Constraints() {
		d := c.Without(i).Digest()
		if seen[d] {
			t.Errorf("without constraint %d the digest is one that was seen", i)
		}
		seen[d] = true
	}
}
