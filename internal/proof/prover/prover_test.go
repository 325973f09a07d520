package prover

import (
	"bytes"
	"errors"
	"math/bits"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/merkle"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/verifier"
)

func serial(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// backwards runs the calls in reverse order.
func backwards(n int, f func(i int)) {
	for i := range n {
		f(n - 1 - i)
	}
}

// copies is a circuit of three columns. The first, or for a forger the second, has the contents of the third in another
// order. Another interaction shares the helper column, and a third one has the accumulator.
func copies(forger bool) *air.Circuit {
	b := air.NewBuilder()
	bus, other := b.Bus("values", 1), b.Bus("other", 1)
	x, y, z := b.Column("x"), b.Column("y"), b.Column("z")
	one := b.Const(field.New(1))
	if sent := x; forger {
		bus.Send(one, y)
	} else {
		bus.Send(one, sent)
	}
	other.Send(one, x)
	other.Receive(one, x)
	bus.Receive(one, z)
	return b.Build()
}

func copiesTrace(n int) []field.Vector {
	columns := []field.Vector{make(field.Vector, n), make(field.Vector, n), make(field.Vector, n)}
	for i := range n {
		columns[0][i] = field.New(uint64(3*i + 1))
		columns[1][i] = columns[0][i]
		columns[2][(i+5)%n] = columns[0][i]
	}
	return columns
}

// TestForgedHelperColumn computes a helper column from the required trace instead of the actual one: only the
// constraint on the helper column can detect that.
func TestForgedHelperColumn(t *testing.T) {
	c := copies(false)
	s := &stark.Statement{Circuit: c}
	columns := copiesTrace(16)
	prove := func(s *stark.Statement, forged bool) []byte {
		p := New(s.Circuit)
		if forged {
			p.buses = compileBuses(copies(true))
		}
		proof, err := p.Prove(s, 0, columns, serial)
		if err != nil {
			t.Fatal(err)
		}
		return proof
	}
	if _, err := verifier.Verify(s, 100, prove(s, false)); err != nil {
		t.Fatalf("honest: error %v", err)
	}
	columns[0][3] = field.New(1000)
	if _, err := verifier.Verify(s, 100, prove(s, false)); !errors.Is(err, verifier.ErrConstraints) {
		t.Errorf("wrong value: error %v, want %v", err, verifier.ErrConstraints)
	}
	if _, err := verifier.Verify(s, 100, prove(s, true)); !errors.Is(err, verifier.ErrConstraints) {
		t.Errorf("wrong value, forged helper column: error %v, want %v", err, verifier.ErrConstraints)
	}
	if name := c.Constraints()[0].Name; name != "bus helper 0" {
		t.Fatalf("the first constraint is %q, want \"bus helper 0\"", name)
	}
	s.Circuit = c.Without(0)
	if _, err := verifier.Verify(s, 100, prove(s, true)); err != nil {
		t.Errorf("without the constraint: error %v", err)
	}
}

// TestProofDependsOnNothingElse makes the same proof with other schedules, after other proofs in the same memory, with
// reserved memory, and with the values on all cosets kept or only on two.
func TestProofDependsOnNothingElse(t *testing.T) {
	s := &stark.Statement{Circuit: copies(false)}
	small, large := copiesTrace(16), copiesTrace(2*lagrangeBlock)
	fresh := func(columns []field.Vector) []byte {
		proof, err := New(s.Circuit).Prove(s, 1, columns, serial)
		if err != nil {
			t.Fatal(err)
		}
		return proof
	}
	wantSmall, wantLarge := fresh(small), fresh(large)
	for _, kept := range []int{mostKept, 0} {
		p := New(s.Circuit)
		p.mostKept = kept
		p.Reserve(bits.TrailingZeros(2*lagrangeBlock), 1)
		reserved := len(p.arena.elements.buffer)
		for i, parallel := range []func(int, func(int)){serial, backwards, threads} {
			for _, c := range []struct {
				columns []field.Vector
				want    []byte
			}{{large, wantLarge}, {small, wantSmall}} {
				got, err := p.Prove(s, 1, c.columns, parallel)
				if err != nil || !bytes.Equal(got, c.want) {
					t.Errorf("%d points kept, schedule %d, %d rows: another proof, error %v",
						kept, i, len(c.columns[0]), err)
				}
			}
		}
		if got := len(p.arena.elements.buffer); got != reserved {
			t.Errorf("%d points kept: %d elements reserved, %d needed", kept, reserved, got)
		}
	}
}

// TestOverwritesItsMemory: memory is not cleared between proofs, so a proof must be the same if all memory contains
// junk. The circuit has selectors, and a column of the trace is 0.
func TestOverwritesItsMemory(t *testing.T) {
	const logRows, level = 10, 1
	b := air.NewBuilder()
	bus := b.Bus("values", 1)
	x, y, z := b.Column("x"), b.Column("y"), b.Column("z")
	bus.Send(b.First(), x)
	bus.Receive(b.Last(), y)
	bus.Send(b.Last().Not(), z)
	b.Constrain("equal", b.First().Mul(x.Sub(y)))
	s, columns := &stark.Statement{Circuit: b.Build()}, copiesTrace(1<<logRows)
	clear(columns[2])
	want, err := New(s.Circuit).Prove(s, level, columns, threads)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []int{mostKept, 0} {
		p := New(s.Circuit)
		p.mostKept = kept
		p.Reserve(logRows, level)
		elements, digests := p.arena.elements.buffer, p.arena.digests.buffer
		for i := range elements {
			elements[i] = field.New(uint64(i) + 12345)
		}
		for i := range digests {
			digests[i] = merkle.Digest{0xa5, byte(i)}
		}
		got, err := p.Prove(s, level, columns, threads)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d points kept: another proof, error %v", kept, err)
		}
		if &elements[0] != &p.arena.elements.buffer[0] || &digests[0] != &p.arena.digests.buffer[0] {
			t.Errorf("%d points kept: the memory reserved is not used", kept)
		}
	}
}

func TestShapes(t *testing.T) {
	s := &stark.Statement{Circuit: copies(false)}
	p := New(s.Circuit)
	good := copiesTrace(16)
	uneven := copiesTrace(16)
	uneven[1] = uneven[1][:8]
	for name, columns := range map[string][]field.Vector{
		"none":            nil,
		"two columns":     good[:2],
		"uneven":          uneven,
		"four rows":       copiesTrace(4),
		"no power of two": copiesTrace(17),
		"too many rows":   copiesTrace(2 << stark.MaxLogRows),
	} {
		if _, err := p.Prove(s, 0, columns, serial); !errors.Is(err, stark.ErrShape) {
			t.Errorf("%s: error %v, want %v", name, err, stark.ErrShape)
		}
	}
	if _, err := p.Prove(
		&stark.Statement{Circuit: copies(false), Public: make([]field.Element, 1)}, 0, good, serial,
	); !errors.Is(err, stark.ErrShape) {
		t.Errorf("public inputs that the circuit has not: error %v", err)
	}
	if _, err := p.Prove(&stark.Statement{Circuit: copies(true)}, 0, good, serial); !errors.Is(err, stark.ErrShape) {
		t.Errorf("another circuit: error %v, want %v", err, stark.ErrShape)
	}
	b := air.NewBuilder()
	x := b.Column("x")
	b.Constrain("degree 4", x.Mul(x).Mul(x).Mul(x))
	steep := b.Build()
	if _, err := New(steep).Prove(&stark.Statement{Circuit: steep}, 0, good[:1], serial); !errors.Is(err, stark.ErrShape) {
		t.Errorf("degree 4: error %v, want %v", err, stark.ErrShape)
	}
}
