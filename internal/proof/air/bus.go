package air

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// ErrDenominator is returned if a fingerprint is 0, as its term of the sum is not defined. If the challenges are drawn
// after the tuples are fixed, this happens with a probability of about 2^−160.
var ErrDenominator = errors.New("air: fingerprint of a bus is zero")

// ErrTuple is returned for a tuple of the public side that is longer than every tuple of the circuit.
var ErrTuple = errors.New("air: tuple is too long")

// Bus is a multiset of tuples that must balance.
type Bus struct {
	b  *Builder
	id int
}

type busShape struct {
	name  string
	arity int
}

// ID returns the bus' number in fingerprints, from 1.
func (bus Bus) ID() int { return bus.id }

// Arity returns the number of elements in the bus' tuples.
func (bus Bus) Arity() int { return bus.b.buses[bus.id-1].arity }

// Bus adds a bus whose tuples have arity elements. Its name is for people.
func (b *Builder) Bus(name string, arity int) Bus {
	b.buses = append(b.buses, busShape{name, arity})
	return Bus{b, len(b.buses)}
}

// Interaction is a row's interaction with a bus.
type Interaction struct {
	Bus          int     // ID of the bus
	Multiplicity int32   // node: number of times the tuple is sent; negative if it is received
	Tuple        []int32 // nodes
	Fingerprint  int32   // node: fingerprint of the tuple, in the extension field
}

// Send makes each row send tuple on the bus multiplicity times.
func (bus Bus) Send(multiplicity Expr, tuple ...Expr) { bus.interact(multiplicity, tuple) }

// Receive makes each row receive tuple from the bus multiplicity times.
func (bus Bus) Receive(multiplicity Expr, tuple ...Expr) {
	bus.interact(bus.b.Const(field.Element{}).Sub(multiplicity), tuple)
}

// interact adds an interaction. The order of interactions determines which ones share a helper column.
func (bus Bus) interact(multiplicity Expr, tuple []Expr) {
	b := bus.b
	b.own(multiplicity)
	if shape := b.buses[bus.id-1]; len(tuple) != shape.arity {
		panic(fmt.Sprintf("air: %d elements for bus %s of %d", len(tuple), shape.name, shape.arity))
	}
	it := Interaction{Bus: bus.id, Multiplicity: multiplicity.node}
	sum := b.Const(field.New(uint64(bus.id)))
	for i, e := range tuple {
		b.own(e)
		it.Tuple = append(it.Tuple, e.node)
		sum = sum.Add(b.leaf(OpBeta, i+1).Mul(e))
	}
	it.Fingerprint = b.leaf(OpAlpha, 0).Sub(sum).node
	b.interactions = append(b.interactions, it)
}

// perGroup is the number of interactions whose terms are added up in one helper column. With two interactions, whose
// fingerprints have degree 1 and multiplicities degree ≤ 2, the constraint on the helper column has degree 3.
const perGroup = 2

// groups splits the interactions into groups that share a helper column. The last group has no helper column: its terms
// are added to the accumulator directly.
func groups(interactions []Interaction) [][]Interaction {
	var all [][]Interaction
	for len(interactions) > 0 {
		n := min(perGroup, len(interactions))
		all = append(all, interactions[:n])
		interactions = interactions[n:]
	}
	return all
}

// constrainBuses adds the constraints on helper columns and accumulator. For the terms m/d of a group, the constraint
// is
//
//	helper · Πd = Σ m·Π(other d)
//
// For the last group, the helper is replaced by the accumulator's growth minus the helpers. On each row the accumulator
// grows by the terms minus OpShift, so that after the last row it is back at its value before the first.
func (b *Builder) constrainBuses() {
	all := groups(b.interactions)
	if len(all) == 0 {
		return
	}
	last := len(all) - 1
	growth := b.leaf(OpAuxNext, last).Sub(b.leaf(OpAux, last)).Add(b.leaf(OpShift, 0))
	for g, group := range all {
		sum, name := b.leaf(OpAux, g), fmt.Sprintf("bus helper %d", g)
		if g == last {
			sum, name = growth, "bus accumulator"
		} else {
			growth = growth.Sub(sum)
		}
		for _, it := range group {
			sum = sum.Mul(Expr{b, it.Fingerprint})
		}
		for i := range group {
			sum = sum.Sub(b.numerator(group, i))
		}
		b.Constrain(name, sum)
	}
}

// numerator returns the multiplicity of interaction i times the fingerprints of the others in the group.
func (b *Builder) numerator(group []Interaction, i int) Expr {
	product := Expr{b, group[i].Multiplicity}
	for j, other := range group {
		if j != i {
			product = product.Mul(Expr{b, other.Fingerprint})
		}
	}
	return product
}

// Term is an interaction of the public side: a tuple that is sent on a bus, or received if Multiplicity is negative.
type Term struct {
	Bus          Bus
	Multiplicity field.Element
	Tuple        []field.Element
}

// Challenges holds the challenges for the buses, which are drawn after the columns are committed to.
type Challenges struct {
	Alpha field.Ext
	Beta  []field.Ext // powers 1, 2, … of β; their number is [Circuit.Arity]
	Shift field.Ext   // value of OpShift
}

// NewChallenges returns the challenges for α and β and the public side, for a table of 2^logRows rows. It returns
// ErrDenominator if a fingerprint is 0, or ErrTuple.
func (c *Circuit) NewChallenges(alpha, beta field.Ext, terms []Term, logRows int) (*Challenges, error) {
	ch := &Challenges{Alpha: alpha, Beta: make([]field.Ext, c.arity)}
	power := field.One()
	for i := range ch.Beta {
		power.Mul(&power, &beta)
		ch.Beta[i] = power
	}
	for i := range terms {
		if len(terms[i].Tuple) > c.arity {
			return nil, ErrTuple
		}
	}
	sum, err := ch.publicSum(terms)
	if err != nil {
		return nil, err
	}
	rows := field.New(1 << logRows)
	rows.Inverse(&rows)
	rows.Neg(&rows)
	ch.Shift.MulByElement(&sum, &rows)
	return ch, nil
}

// publicSum returns the sum of multiplicity / fingerprint over the public side. It returns ErrDenominator if a
// fingerprint is 0.
func (ch *Challenges) publicSum(terms []Term) (sum field.Ext, err error) {
	fingerprints := ch.fingerprints(terms)
	for i := range fingerprints {
		if fingerprints[i].IsZero() {
			return sum, ErrDenominator
		}
	}
	field.InvertExt(fingerprints)
	for i := range fingerprints {
		var quotient field.Ext
		quotient.MulByElement(&fingerprints[i], &terms[i].Multiplicity)
		sum.Add(&sum, &quotient)
	}
	return sum, nil
}

// fingerprints returns α − (bus + Σ β^k·t_k) for each term. It adds one k after the other for all terms.
func (ch *Challenges) fingerprints(terms []Term) field.ExtVector {
	v, elements := make(field.ExtVector, len(terms)), make(field.Vector, len(terms))
	for i := range terms {
		id := field.Lift(field.New(uint64(terms[i].Bus.id)))
		v[i].Sub(&ch.Alpha, &id)
	}
	for k := range ch.Beta {
		for i := range terms {
			elements[i] = field.Element{}
			if tuple := terms[i].Tuple; k < len(tuple) {
				elements[i] = tuple[k]
			}
		}
		var minus field.Ext
		minus.Neg(&ch.Beta[k])
		v.ScalarMulAccByElement(elements, &minus)
	}
	return v
}
