package air

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// ErrDenominator is returned when a fingerprint is 0: its term of the sum is not defined. For challenges drawn after
// the tuples are fixed this happens with a probability of about 2^−160.
var ErrDenominator = errors.New("air: fingerprint of a bus is zero")

// ErrTuple is returned for a tuple of the public side that is longer than any of the circuit's.
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

// ID is the bus' identity in fingerprints, from 1.
func (bus Bus) ID() int { return bus.id }

// Arity is the number of elements in its tuples.
func (bus Bus) Arity() int { return bus.b.buses[bus.id-1].arity }

// Bus adds a bus of tuples with so many elements. Its name is for people.
func (b *Builder) Bus(name string, arity int) Bus {
	b.buses = append(b.buses, busShape{name, arity})
	return Bus{b, len(b.buses)}
}

// Interaction is what a row does on a bus.
type Interaction struct {
	Bus          int     // its ID
	Multiplicity int32   // node: how often the tuple is sent, negative where it is received
	Tuple        []int32 // nodes
	Fingerprint  int32   // node: of the tuple, in the extension field
}

// Send adds: each row sends tuple on the bus as often as multiplicity says.
func (bus Bus) Send(multiplicity Expr, tuple ...Expr) { bus.interact(multiplicity, tuple) }

// Receive adds: each row receives tuple from the bus as often as multiplicity says.
func (bus Bus) Receive(multiplicity Expr, tuple ...Expr) {
	bus.interact(bus.b.Const(field.Element{}).Sub(multiplicity), tuple)
}

// interact adds an interaction. The order of interactions decides which share a helper column.
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

// perGroup is the number of interactions whose terms are added up in one helper column. With two of them, whose
// fingerprints have degree 1 and multiplicities degree ≤ 2, the constraint on the helper column has degree 3.
const perGroup = 2

// groups splits the interactions into those that share a helper column. The last group has none: its terms go into
// the accumulator at once.
func groups(interactions []Interaction) [][]Interaction {
	var all [][]Interaction
	for len(interactions) > 0 {
		n := min(perGroup, len(interactions))
		all = append(all, interactions[:n])
		interactions = interactions[n:]
	}
	return all
}

// constrainBuses adds the constraints on helper columns and accumulator. With the terms m/d of a group,
//
//	helper · Πd = Σ m·Π(other d)
//
// and for the last group, with the accumulator's growth less the helpers in place of the helper. The accumulator
// grows by OpShift less than the terms on each row, so that after the last row it is where it was before the first.
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

// numerator is the multiplicity of interaction i times the fingerprints of the others in the group.
func (b *Builder) numerator(group []Interaction, i int) Expr {
	product := Expr{b, group[i].Multiplicity}
	for j, other := range group {
		if j != i {
			product = product.Mul(Expr{b, other.Fingerprint})
		}
	}
	return product
}

// Term is an interaction of the public side: a tuple that is sent on a bus, or received where Multiplicity is negative.
type Term struct {
	Bus          Bus
	Multiplicity field.Element
	Tuple        []field.Element
}

// Challenges are what the transcript gives for the buses after the columns are committed to.
type Challenges struct {
	Alpha field.Ext
	Beta  []field.Ext // β to the powers 1, 2, …: as many as [Circuit.Arity] says
	Shift field.Ext   // value of OpShift
}

// NewChallenges sets all from α and β and the public side's sum, for a table of 2^logRows rows. It returns
// ErrDenominator for a fingerprint of 0, and ErrTuple.
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

// publicSum adds up multiplicity / fingerprint over the public side. It returns ErrDenominator for a fingerprint of 0.
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

// fingerprints are α − (bus + Σ β^k·t_k), added up over all terms for one k after the other.
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
