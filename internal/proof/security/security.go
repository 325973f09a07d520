// Package security computes the security of a proof in bits, from the probability that a false statement is proven. It
// relies only on theorems, for the parameters of a proof system and the figures of a circuit. It uses no conjecture
// about proximity beyond the Johnson bound.
//
// The bounds are the ones in the Ethereum Foundation's calculator (github.com/ethereum/soundcalc):
//
//	BCHKS25  Ben-Sasson, Carmon, Haböck, Kopparty, Saraf, "On proximity gaps for Reed–Solomon codes", 2025, theorem 4.2
//	Ha22     Haböck, "A summary on the FRI low degree test", eprint 2022/1216, theorem 8
//	Ha22L    Haböck, "Multivariate lookups based on logarithmic derivatives", eprint 2022/1530, lemma 2
//
// Each round is bounded separately and the weakest one determines the result. This is round-by-round soundness, which
// is preserved by the Fiat–Shamir transformation in the random-oracle model. Grinding counts only for the queries.
package security

import (
	"fmt"
	"math"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/fri"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// Circuit holds the figures of a circuit that the bounds depend on.
type Circuit struct {
	LogRows     int // the trace has 2^LogRows rows
	Functions   int // functions that are batched: each column counts once for every point at which it is opened
	Constraints int // number of constraints, composed with powers of one challenge
	Degree      int // largest degree of a constraint in the columns
	Entries     int // number of terms on all buses, in the trace and public
	Width       int // number of values in the longest tuple, including its bus
}

// Of returns a circuit's figures for a trace of 2^logRows rows and public entries on the public side.
func Of(c *air.Circuit, logRows, public int) Circuit {
	shape, interactions := stark.ShapeOf(c), 0
	for _, group := range c.Groups() {
		interactions += len(group)
	}
	return Circuit{
		LogRows:     logRows,
		Functions:   shape.AtPoint() + shape.AtNext(),
		Constraints: len(c.Constraints()),
		Degree:      stark.Chunks + 1,
		Entries:     interactions<<logRows + public,
		Width:       c.Arity() + 1,
	}
}

// Terms holds the bits of each round: −log2 of its error.
type Terms struct {
	ALI      float64 // the composition hides a violated constraint
	DEEP     float64 // a false value outside the domain goes unnoticed
	LogUp    float64 // the sums of unequal buses are equal
	Batching float64 // batching makes a far function close
	Folding  float64 // folding makes a far function close
	Query    float64 // no query detects a far function; includes grinding

	Multiplicity int // m, a parameter of the analysis only: the distance is (1 + 1/2m)·√ρ away from 1
}

// Bits returns the weakest term, rounded down.
func (t Terms) Bits() int {
	return int(math.Floor(min(t.ALI, t.DEEP, t.LogUp, t.Batching, t.Folding, t.Query)))
}

func (t Terms) String() string {
	return fmt.Sprintf("%d bits: ALI %.1f, DEEP %.1f, LogUp %.1f, batching %.1f, folding %.1f, query %.1f (m = %d)",
		t.Bits(), t.ALI, t.DEEP, t.LogUp, t.Batching, t.Folding, t.Query, t.Multiplicity)
}

// points is the number of consecutive rows that constraints read: the current one and the next.
const points = 2

// At returns the terms for the analysis with multiplicity m, which must be at least 3.
func At(p fri.Parameters, c Circuit, m int) Terms {
	rho := math.Exp2(-float64(p.LogBlowup))
	rows := math.Exp2(float64(c.LogRows))
	eta := math.Sqrt(rho) / float64(2*m)
	list := 1 / (2 * eta * math.Sqrt(rho)) // Johnson's bound on the codewords within the distance
	space := float64(field.Degree) * math.Log2(field.P)
	bits := func(error float64) float64 { return space - math.Log2(error) }

	degree := float64(c.Degree)
	t := Terms{
		Multiplicity: m,
		ALI:          bits(list * float64(c.Constraints)),
		DEEP:         bits(list * (degree*(rows+points-1) + rows - 1)),
		LogUp:        bits(list * float64(max(1, c.Entries)) * float64(max(1, c.Width)+1)),
		Batching:     bits(gap(rho, rows, m) * float64(max(1, c.Functions-1))),
		Query:        -float64(p.Queries)*math.Log2(math.Sqrt(rho)+eta) + float64(p.Grinding),
	}
	t.Folding = math.Inf(1)
	for i := range p.Layers(c.LogRows) {
		t.Folding = min(t.Folding, bits(gap(rho, rows/math.Pow(fri.Fold, float64(i+1)), m)*(fri.Fold-1)))
	}
	return t
}

// gap bounds the number of challenges that combine two functions, at least one of them far from the code of this
// dimension, to a function close to the code (BCHKS25, theorem 4.2).
func gap(rho, dimension float64, m int) float64 {
	root, half := math.Sqrt(rho), float64(m)+0.5
	distance := 1 - root - root/float64(2*m)
	return (2*math.Pow(half, 5)+3*half*distance*rho)*(dimension/rho)/(3*rho*root) + half/root
}

// maxMultiplicity bounds the search of [Best]. Larger multiplicities gain less than a tenth of a bit in the query term.
const maxMultiplicity = 1 << 10

// Best returns the terms for the multiplicity that gives the most bits. The multiplicity is part of the analysis and
// does not affect the proof.
func Best(p fri.Parameters, c Circuit) Terms {
	best, weakest := Terms{}, math.Inf(-1)
	for m := 3; m < maxMultiplicity; m++ {
		t := At(p, c, m)
		if w := min(t.ALI, t.DEEP, t.LogUp, t.Batching, t.Folding, t.Query); w > weakest {
			best, weakest = t, w
		}
	}
	return best
}
