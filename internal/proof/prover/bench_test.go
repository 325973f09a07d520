package prover

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/verifier"
)

// threads runs calls in two goroutines.
func threads(n int, f func(i int)) {
	var wait sync.WaitGroup
	var mutex sync.Mutex
	next := 0
	for range 2 {
		wait.Go(func() {
			for {
				mutex.Lock()
				i := next
				next++
				mutex.Unlock()
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wait.Wait()
}

// wide is a circuit of about the size of one that hashes: rounds of a dense matrix and cubes over 16 columns, with a
// column for each cube, and with eight interactions. Its trace is the permutation of zeros.
func wide(logRows int) (*stark.Statement, []field.Vector) {
	const width, rounds = 16, 12
	b := air.NewBuilder()
	bus := b.Bus("states", width)
	state := b.Columns("state", width)
	var cubes [][]air.Expr
	current := state
	coefficient := func(i, j int) air.Expr { return b.Const(field.New(uint64((i*7+j*3)%64 + 1))) }
	for r := range rounds {
		next := b.Columns(fmt.Sprint("round", r), width)
		for i := range width {
			var sum air.Expr
			for j := range width {
				term := coefficient(i, j).Mul(current[j])
				if j == 0 {
					sum = term
				} else {
					sum = sum.Add(term)
				}
			}
			sum = sum.Add(b.Const(field.New(uint64(r*width + i))))
			b.Constrain("round", next[i].Sub(sum.Mul(sum).Mul(sum)))
		}
		cubes = append(cubes, next)
		current = next
	}
	for i := range 4 {
		bus.Send(b.First().Not(), cubes[i]...)
		bus.Receive(b.First().Not(), cubes[i]...)
	}
	n := 1 << logRows
	columns := make([]field.Vector, width*(rounds+1))
	for k := range columns {
		columns[k] = make(field.Vector, n)
	}
	row := make([]field.Element, len(columns))
	for i := range n {
		for j := range width {
			row[j] = field.New(uint64(i*width + j))
		}
		for r := range rounds {
			for k := range width {
				sum := field.New(uint64(r*width + k))
				for j := range width {
					c := field.New(uint64((k*7+j*3)%64 + 1))
					c.Mul(&c, &row[r*width+j])
					sum.Add(&sum, &c)
				}
				row[(r+1)*width+k].Cube(&sum)
			}
		}
		for k := range columns {
			columns[k][i] = row[k]
		}
	}
	return &stark.Statement{Circuit: b.Build()}, columns
}

func BenchmarkProve(b *testing.B) {
	for _, logRows := range []int{12, 15, 17} {
		for level := range stark.Levels {
			b.Run(fmt.Sprintf("2^%d rows, level %d", logRows, level), func(b *testing.B) {
				s, columns := wide(logRows)
				p := New(s.Circuit)
				p.Reserve(logRows, level)
				var size int
				for b.Loop() {
					proof, err := p.Prove(s, level, columns, threads)
					if err != nil {
						b.Fatal(err)
					}
					size = len(proof)
				}
				b.ReportMetric(float64(size), "bytes")
				b.ReportMetric(float64(len(columns)), "columns")
			})
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s, columns := wide(15)
	p := New(s.Circuit)
	for level := range stark.Levels {
		proof, err := p.Prove(s, level, columns, threads)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("2^15 rows x %d+%d columns, %d bits", len(columns), p.shape.Aux, stark.Levels[level].Bits), func(
			b *testing.B,
		) {
			for b.Loop() {
				if _, err := verifier.Verify(s, 100, proof); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
