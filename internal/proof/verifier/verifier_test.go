package verifier_test

import (
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/prover"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/verifier"
)

// threads runs calls in goroutines of their own.
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

// records is a list of public pairs that the trace holds sorted, with cubes that a second bus takes from row to row:
// it has everything that circuits have. The rows beyond the pairs are off.
func records(logRows int) example {
	b := air.NewBuilder()
	pairs, cubes := b.Bus("pairs", 2), b.Bus("cubes", 1)
	on, x, y, square, cube, taken := b.Column("on"), b.Column("x"), b.Column("y"), b.Column("square"), b.Column("cube"), b.Column("taken")
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
			s.Terms = append(s.Terms, air.Term{Bus: pairs, Multiplicity: field.New(1), Tuple: []field.Element{columns[1][i], yi}})
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

func TestHonestProofs(t *testing.T) {
	for name, make := range map[string]func(int) example{"fibonacci": fibonacci, "records": records} {
		for _, logRows := range []int{3, 4, 8, 9, 10, 13} {
			e := make(logRows)
			if err := e.statement.Circuit.Check(e.columns, e.statement.Public, e.statement.Terms); err != nil {
				t.Fatal(err)
			}
			for level := range stark.Levels {
				proof := e.prove(t, level)
				bits, err := verifier.Verify(e.statement, 100, proof)
				if err != nil || bits != stark.Levels[level].Bits {
					t.Errorf("%s, 2^%d rows, level %d: %d bits, %v", name, logRows, level, bits, err)
				}
				t.Logf("%s, 2^%d rows, level %d: %d bytes", name, logRows, level, len(proof))
			}
		}
	}
}
