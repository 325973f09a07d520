package field

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCosetEvaluates compares Evaluate with Horner's scheme, at only some points if the vectors are long.
func TestCosetEvaluates(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for log := range 19 {
		n, s := 1<<log, random(r)
		coefficients, values := make(Vector, n), make(Vector, n)
		for i := range coefficients {
			coefficients[i] = random(r)
		}
		coefficients[0], coefficients[n-1] = New(P-1), New(P-1)
		c := NewCoset(log, s)
		c.Evaluate(values, coefficients)
		ordered := slices.Clone(coefficients)
		BitReverse(ordered)
		for i := 0; i < n; i += max(1, n/64-1) {
			x, want := Pow(RootOfUnity(log), uint64(i)), Element{}
			x.Mul(&x, &s)
			for k := n - 1; k >= 0; k-- {
				want.Mul(&want, &x).Add(&want, &ordered[k])
			}
			if values[i] != want {
				t.Fatalf("2^%d values: number %d is %v, want %v", log, i, &values[i], &want)
			}
		}
		if c.Evaluate(coefficients, coefficients); !slices.Equal(coefficients, values) {
			t.Errorf("2^%d values differ in place", log)
		}
	}
}

func BenchmarkCoset(b *testing.B) {
	c, v := NewCoset(15, New(3)), make(Vector, 1<<15)
	for b.Loop() {
		c.Evaluate(v, v)
	}
}
