package hunt

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Genes are a shape with values for its numbers. Equal genes build equal candidates.
type Genes struct {
	shape  *shape
	values []uint64
}

// shape is a family of candidates.
type shape struct {
	name    string
	kind    Kind
	numbers []number
	build   func(values) Candidate
}

// number is a parameter of a shape, with its range.
type number struct {
	name        string
	least, most uint64
}

// values maps the names of a candidate's numbers to their values.
type values map[string]uint64

func (v values) of(name string) int {
	value, ok := v[name]
	if !ok {
		panic("a shape has no number " + name)
	}
	return int(value)
}

// Kind says how to run a candidate.
type Kind uint8

const (
	Code  Kind = iota // a module that computes, and whose host functions need no chain
	Chain             // contracts that use host functions of a chain, or call each other
)

// Candidate is built from genes.
type Candidate struct {
	Code   []byte // exports run
	Copies int    // number of contracts with this code, each with a distinct hash
	Args   []byte // prefix of the arguments of run, before the contracts' IDs; the first contract is called
}

// Kind returns how the genes' candidate is run.
func (g Genes) Kind() Kind { return g.shape.kind }

// Build builds the candidate.
func (g Genes) Build() Candidate {
	v := values{}
	for i, n := range g.shape.numbers {
		v[n.name] = g.values[i]
	}
	return g.shape.build(v)
}

// String formats the genes in one line, which [Parse] reads: the shape, and name=value for each number.
func (g Genes) String() string {
	text := g.shape.name
	for i, n := range g.shape.numbers {
		text += fmt.Sprintf(" %s=%d", n.name, g.values[i])
	}
	return text
}

// Parse parses genes. All numbers of the shape must be present, in order and in range.
func Parse(line string) (Genes, error) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return Genes{}, fmt.Errorf("no genes")
	}
	i := slices.IndexFunc(shapes, func(s *shape) bool { return s.name == fields[0] })
	if i < 0 {
		return Genes{}, fmt.Errorf("there is no shape %q", fields[0])
	}
	g := Genes{shape: shapes[i]}
	if len(fields)-1 != len(g.shape.numbers) {
		return Genes{}, fmt.Errorf("shape %s has %d numbers, not %d", g.shape.name, len(g.shape.numbers), len(fields)-1)
	}
	for k, n := range g.shape.numbers {
		name, text, _ := strings.Cut(fields[k+1], "=")
		value, err := strconv.ParseUint(text, 10, 64)
		if err != nil || name != n.name || value < n.least || value > n.most {
			return Genes{}, fmt.Errorf("shape %s: %q is not %s=%d to %d", g.shape.name, fields[k+1], n.name, n.least, n.most)
		}
		g.values = append(g.values, value)
	}
	return g, nil
}

// Fresh returns random genes of a kind.
func Fresh(r *rand.Rand, kind Kind) Genes {
	for {
		if s := shapes[r.IntN(len(shapes))]; s.kind == kind {
			g := Genes{shape: s}
			for _, n := range s.numbers {
				g.values = append(g.values, n.draw(r))
			}
			return g
		}
	}
}

// Mutate returns genes that differ in one to three numbers.
func (g Genes) Mutate(r *rand.Rand) Genes {
	g.values = slices.Clone(g.values)
	for range 1 + r.IntN(3) {
		i := r.IntN(len(g.values))
		n, was := g.shape.numbers[i], g.values[i]
		switch r.IntN(3) {
		case 0:
			g.values[i] = n.draw(r)
		case 1:
			g.values[i] = n.within(was+r.Uint64N(7), 3)
		case 2:
			g.values[i] = n.within(was+r.Uint64N(was+1), was/2)
		}
	}
	return g
}

// draw returns, with equal probability, a uniform value of the range or one with a random number of bits, so that small
// values are as likely as great ones.
func (n number) draw(r *rand.Rand) uint64 {
	span := n.most - n.least
	if r.IntN(2) == 0 && span > 0 {
		span &= 1<<r.IntN(bits.Len64(span)+1) - 1
	}
	if span == 1<<64-1 {
		return r.Uint64()
	}
	return n.least + r.Uint64N(span+1)
}

// within returns value − less, clamped to the range.
func (n number) within(value, less uint64) uint64 {
	if value < less {
		return n.least
	}
	return max(n.least, min(n.most, value-less))
}

// Shape returns the name of the genes' shape.
func (g Genes) Shape() string { return g.shape.name }
