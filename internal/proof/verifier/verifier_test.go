package verifier_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/prover"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
	"github.com/cairn-chain/cairn/internal/proof/verifier"
)

// threads runs each call in its own goroutine.
func threads(n int, f func(i int)) {
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { f(i) })
	}
	wait.Wait()
}

// example is a circuit with a statement about it and a trace that proves it.
type example struct {
	statement *stark.Statement
	columns   []field.Vector
}

// fibonacci has two neighbours of the sequence in each row; public are the first row and the last neighbour.
func fibonacci(logRows int) example {
	b := air.NewBuilder()
	x, y := b.Column("x"), b.Column("y")
	in := b.Publics(3)
	b.Constrain("begin x", b.First().Mul(x.Sub(in[0])))
	b.Constrain("begin y", b.First().Mul(y.Sub(in[1])))
	b.Constrain("shift", b.Last().Not().Mul(x.Next().Sub(y)))
	b.Constrain("add", b.Last().Not().Mul(y.Next().Sub(x).Sub(y)))
	b.Constrain("end", b.Last().Mul(y.Sub(in[2])))
	n := 1 << logRows
	columns := []field.Vector{make(field.Vector, n), make(field.Vector, n)}
	columns[0][0], columns[1][0] = field.New(3), field.New(7)
	for i := 1; i < n; i++ {
		columns[0][i] = columns[1][i-1]
		columns[1][i].Add(&columns[0][i-1], &columns[1][i-1])
	}
	return example{&stark.Statement{
		Circuit: b.Build(), Context: []byte("context"),
		Public: []field.Element{columns[0][0], columns[1][0], columns[1][n-1]},
	}, columns}
}

// records is a circuit for a list of public pairs that the trace holds sorted, with cubes that a second bus carries
// from row to row: it has every feature of circuits. The rows after the pairs are off.
func records(logRows int) example {
	b := air.NewBuilder()
	pairs, cubes := b.Bus("pairs", 2), b.Bus("cubes", 1)
	on, x, y, square, cube, taken := b.Column("on"), b.Column("x"), b.Column("y"), b.Column("square"), b.Column("cube"),
		b.Column("taken")
	in := b.Publics(1)
	b.Constrain("on is a bit", on.Mul(on.Not()))
	b.Constrain("first is on", b.First().Mul(on.Not()))
	b.Constrain("off stays off", b.Last().Not().Mul(on.Not()).Mul(on.Next()))
	b.Constrain("x counts", b.Last().Not().Mul(on.Next()).Mul(x.Next().Sub(x).Sub(b.Const(field.New(1)))))
	b.Constrain("square", square.Sub(y.Mul(y)))
	b.Constrain("cube", cube.Sub(square.Mul(y).Mul(on)).Sub(in[0].Mul(on)))
	pairs.Receive(on, x, y)
	cubes.Send(on, cube)
	cubes.Receive(on, taken)
	n := 1 << logRows
	columns := make([]field.Vector, 6)
	for k := range columns {
		columns[k] = make(field.Vector, n)
	}
	s := &stark.Statement{Circuit: b.Build(), Public: []field.Element{field.New(11)}}
	used := n - n/4
	for i := range n {
		yi := field.New(uint64(i*i + 5))
		columns[1][i], columns[2][i] = field.New(uint64(100+i)), yi
		columns[3][i].Square(&yi)
		if i < used {
			columns[0][i].SetOne()
			columns[4][i].Mul(&columns[3][i], &yi).Add(&columns[4][i], &s.Public[0])
			s.Terms = append(s.Terms, air.Term{
				Bus: pairs, Multiplicity: field.New(1), Tuple: []field.Element{columns[1][i], yi},
			})
		}
	}
	for i := range used { // another order
		columns[5][i] = columns[4][(i+3)%used]
	}
	return example{s, columns}
}

func (e example) prove(t testing.TB, level int) []byte {
	t.Helper()
	proof, err := prover.New(e.statement.Circuit).Prove(e.statement, level, e.columns, threads)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

// examples are both circuits.
var examples = map[string]func(logRows int) example{"fibonacci": fibonacci, "records": records}

func TestHonestProofs(t *testing.T) {
	for name, build := range examples {
		for level, sizes := range [][]int{{3, 9, 13}, {4, 10}, {5, 12}, {3, 11}, {3, 10}, {6, 12}} {
			for _, logRows := range sizes {
				e := build(logRows)
				if err := e.statement.Circuit.Check(e.columns, e.statement.Public, e.statement.Terms); err != nil {
					t.Fatal(err)
				}
				proof := e.prove(t, level)
				bits, err := verifier.Verify(e.statement, 100, proof)
				if err != nil || bits != stark.Levels[level].Bits {
					t.Errorf("%s, 2^%d rows, level %d: %d bits, error %v", name, logRows, level, bits, err)
				}
				if most := verifier.MostBytes(e.statement.Circuit); len(proof) > most {
					t.Errorf("%s, 2^%d rows, level %d: %d bytes, at most %d", name, logRows, level, len(proof), most)
				}
				if level == 0 {
					if _, err := verifier.Verify(e.statement, 101, proof); !errors.Is(err, verifier.ErrLevel) {
						t.Errorf("100 bits where 101 are asked for: error %v, want %v", err, verifier.ErrLevel)
					}
				}
			}
		}
	}
}

// TestNoByteMayChange flips one bit of every byte of small proofs, and of some bytes of one with a layer of FRI.
func TestNoByteMayChange(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	for name, build := range examples {
		for _, c := range []struct{ logRows, step int }{{3, 1}, {10, 211}} {
			e := build(c.logRows)
			proof := e.prove(t, 0)
			tried := 0
			for i := 0; i < len(proof); i++ {
				if i%c.step != 0 && i > 100 {
					continue
				}
				proof[i] ^= 1 << (i % 8)
				if _, err := verifier.Verify(e.statement, 100, proof); err == nil {
					t.Errorf("%s, 2^%d rows: byte %d of %d changed: accepted", name, c.logRows, i, len(proof))
				}
				proof[i] ^= 1 << (i % 8)
				tried++
			}
			for n := 0; n < len(proof); n += c.step {
				if _, err := verifier.Verify(e.statement, 100, proof[:n]); err == nil {
					t.Errorf("%s, 2^%d rows: cut to %d bytes: accepted", name, c.logRows, n)
				}
			}
			if _, err := verifier.Verify(e.statement, 100, append(proof, 0)); !errors.Is(err, transcript.ErrLong) {
				t.Errorf("%s, 2^%d rows: one byte more: error %v, want %v", name, c.logRows, err, transcript.ErrLong)
			}
			t.Logf("%s, 2^%d rows: %d of %d bytes changed, none accepted", name, c.logRows, tried, len(proof))
		}
	}
}

// TestStatementIsBound verifies a proof of one statement against others.
func TestStatementIsBound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	one := field.New(1)
	for name, build := range examples {
		e := build(4)
		proof := e.prove(t, 1)
		check := func(what string, s stark.Statement) {
			t.Helper()
			if _, err := verifier.Verify(&s, 100, proof); err == nil {
				t.Errorf("%s, %s: accepted", name, what)
			}
		}
		s := *e.statement
		s.Context = append([]byte("another "), s.Context...)
		check("another context", s)
		for i := range e.statement.Public {
			s := *e.statement
			s.Public = slices.Clone(s.Public)
			s.Public[i].Add(&s.Public[i], &one)
			check("a changed public input", s)
		}
		for i := range e.statement.Terms {
			s := *e.statement
			s.Terms = slices.Clone(s.Terms)
			s.Terms[i].Multiplicity.Double(&s.Terms[i].Multiplicity)
			check("a changed multiplicity", s)
			s.Terms = slices.Delete(slices.Clone(e.statement.Terms), i, i+1)
			check("an entry left out", s)
			s.Terms = append(slices.Clone(e.statement.Terms), e.statement.Terms[i])
			check("an entry twice", s)
			s.Terms = slices.Clone(e.statement.Terms)
			s.Terms[i].Tuple = slices.Clone(s.Terms[i].Tuple)
			s.Terms[i].Tuple[0].Add(&s.Terms[i].Tuple[0], &one)
			check("a changed entry", s)
		}
		if n := len(e.statement.Terms); n > 1 {
			s := *e.statement
			s.Terms = slices.Clone(s.Terms)
			s.Terms[0], s.Terms[n-1] = s.Terms[n-1], s.Terms[0]
			check("entries exchanged", s)
		}
		for i := range e.statement.Circuit.Constraints() {
			s := *e.statement
			s.Circuit = s.Circuit.Without(i)
			check("a circuit with one constraint less", s)
		}
		if _, err := verifier.Verify(
			&stark.Statement{Circuit: e.statement.Circuit}, 100, proof,
		); !errors.Is(err, stark.ErrShape) {
			t.Errorf("%s, no public inputs: error %v", name, err)
		}
	}
}

// TestWrongWitness changes one value in each column.
func TestWrongWitness(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	one := field.New(1)
	for name, build := range examples {
		e := build(5)
		for k := range e.columns {
			row := 3 + k
			was := e.columns[k][row]
			e.columns[k][row].Add(&was, &one)
			if err := e.statement.Circuit.Check(e.columns, e.statement.Public, e.statement.Terms); err == nil {
				t.Fatalf("%s: column %d does not matter in row %d", name, k, row)
			}
			if _, err := verifier.Verify(e.statement, 100, e.prove(t, 0)); !errors.Is(err, verifier.ErrConstraints) {
				t.Errorf("%s, column %d: error %v, want %v", name, k, err, verifier.ErrConstraints)
			}
			e.columns[k][row] = was
		}
	}
}

// TestEachConstraintMatters forges for each constraint a trace that violates only this one: the circuit without the
// constraint accepts the trace, and the whole circuit refuses it.
func TestEachConstraintMatters(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	one := field.New(1)
	add := func(x *field.Element) { x.Add(x, &one) }
	extend := func(c []field.Vector, from int) { // the sequence continues from a row on
		for i := from; i < len(c[0]); i++ {
			c[0][i] = c[1][i-1]
			c[1][i].Add(&c[0][i-1], &c[1][i-1])
		}
	}
	end := func(e example) { e.statement.Public[2] = e.columns[1][len(e.columns[1])-1] }
	tests := map[string]map[string]func(e example){
		"fibonacci": {
			"begin x": func(e example) { add(&e.columns[0][0]); extend(e.columns, 1); end(e) },
			"begin y": func(e example) { add(&e.columns[1][0]); extend(e.columns, 1); end(e) },
			"shift": func(e example) {
				add(&e.columns[0][5])
				e.columns[1][6].Add(&e.columns[0][5], &e.columns[1][5])
				e.columns[0][6] = e.columns[1][5]
				extend(e.columns, 7)
				end(e)
			},
			"add": func(e example) { add(&e.columns[1][5]); extend(e.columns, 6); end(e) },
			"end": func(e example) { add(&e.statement.Public[2]) },
		},
		"records": {
			"on is a bit":   func(e example) { forgeMultiplicity(e) },
			"first is on":   func(e example) { clear(e.columns[0]); clear(e.columns[4]); e.statement.Terms = nil },
			"off stays off": func(e example) { turnOff(e, 4) },
			"x counts":      func(e example) { add(&e.columns[1][2]); add(&e.statement.Terms[2].Tuple[0]) },
			"square": func(e example) {
				add(&e.columns[3][2])
				e.columns[4][2].Add(&e.columns[4][2], &e.columns[2][2])
				retake(e)
			},
			"cube":            func(e example) { add(&e.columns[4][2]); retake(e) },
			"bus accumulator": func(e example) { add(&e.columns[5][2]) },
		},
	}
	for name, forge := range tests {
		for _, constraint := range examples[name](4).statement.Circuit.Constraints() {
			if constraint.Name == "bus helper 0" {
				continue // a forged helper column is not part of the trace: see the prover's tests
			}
			e := examples[name](4)
			if forge[constraint.Name] == nil {
				t.Errorf("%s: nobody forges %q", name, constraint.Name)
				continue
			}
			forge[constraint.Name](e)
			if _, err := verifier.Verify(e.statement, 100, e.prove(t, 0)); !errors.Is(err, verifier.ErrConstraints) {
				t.Errorf("%s, %s: error %v, want %v", name, constraint.Name, err, verifier.ErrConstraints)
			}
			i := slices.Index(e.statement.Circuit.Constraints(), constraint)
			e.statement.Circuit = e.statement.Circuit.Without(i)
			if _, err := verifier.Verify(e.statement, 100, e.prove(t, 0)); err != nil {
				t.Errorf(
					"%s without %s: %v; %v", name, constraint.Name, err,
					e.statement.Circuit.Check(e.columns, e.statement.Public, e.statement.Terms),
				)
			}
		}
	}
}

// retake balances the second bus of records again.
func retake(e example) {
	used := len(e.statement.Terms)
	for i := range used {
		e.columns[5][i] = e.columns[4][(i+3)%used]
	}
}

// turnOff turns a row of records off and takes its entry from the public side.
func turnOff(e example, row int) {
	e.columns[0][row], e.columns[4][row] = field.Element{}, field.Element{}
	e.statement.Terms = slices.Delete(slices.Clone(e.statement.Terms), row, row+1)
	taken := e.columns[4][:12:12]
	at := 0
	for i := range taken { // each row that is on receives from one of those, in another order
		if i != row {
			for at == row {
				at++
			}
			e.columns[5][i] = taken[at]
			at++
		}
	}
}

// forgeMultiplicity doubles the multiplicity in the last row that is on.
func forgeMultiplicity(e example) {
	row := len(e.statement.Terms) - 1
	two, y := field.New(2), e.columns[2][row]
	e.columns[0][row] = two
	e.statement.Terms[row].Multiplicity = two
	var cube field.Element
	cube.Mul(&e.columns[3][row], &y).Add(&cube, &e.statement.Public[0]).Mul(&cube, &two)
	e.columns[4][row] = cube
	// Cubes are sent with their rows' multiplicities: this row receives its own twice, and the others receive
	// each other's.
	for i := range row {
		e.columns[5][i] = e.columns[4][(i+1)%row]
	}
	e.columns[5][row] = cube
}

// TestProofIsTheSameEverywhere compares a proof with the one that all kernels of the field must give: run with the tag
// purego, it compares the scalar kernels with the vector ones.
func TestProofIsTheSameEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	const want = "94765d1449b63abcd2f3271f2f5e61c6299f2806a446ddea303563a579418e61"
	if got := fmt.Sprintf("%x", sha256.Sum256(records(9).prove(t, 1))); got != want {
		t.Errorf("SHA-256 of the proof is %s, want %s", got, want)
	}
}

// FuzzVerify replaces a part of an honest proof: only the proof itself is accepted. The fuzzer varies the replacement
// and not the proof, because it would spend its time on shortening the proof.
func FuzzVerify(f *testing.F) {
	e := records(3)
	honest := e.prove(f, 0)
	all := uint32(len(honest))
	f.Add(uint32(0), uint32(0), []byte{})
	f.Add(all/2, all, []byte{})
	f.Add(uint32(0), all, []byte{stark.Version, 1, stark.MaxLogRows})
	f.Fuzz(func(t *testing.T, at, removed uint32, put []byte) {
		low := min(int(at), len(honest))
		high := min(low+int(removed), len(honest))
		proof := slices.Concat(honest[:low], put, honest[high:])
		if _, err := verifier.Verify(e.statement, 0, proof); (err == nil) != bytes.Equal(proof, honest) {
			t.Errorf("%d bytes at %d replaced by %x: error %v", high-low, low, put, err)
		}
	})
}
