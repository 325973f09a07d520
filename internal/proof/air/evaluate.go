package air

import "github.com/cairn-chain/cairn/internal/proof/field"

// Point holds the values at which the verifier evaluates a circuit: the values of all leaves of its expressions, as
// polynomials at one point of the extension field.
type Point struct {
	Columns, Next []field.Ext // at the point, and at the point times the generator of the rows
	Aux, AuxNext  []field.Ext // at the point, and at the point times the generator of the rows
	Public        []field.Element
	First, Last   field.Ext // the selectors
	Challenges    *Challenges
}

// Evaluate returns the values of the constraints at p, in order. The lengths in p must match the circuit.
func (c *Circuit) Evaluate(p *Point) []field.Ext {
	values := make([]field.Ext, len(c.nodes))
	for i, n := range c.nodes {
		v := &values[i]
		switch n.Op {
		case OpConst:
			*v = field.Lift(n.Value)
		case OpColumn:
			*v = p.Columns[n.A]
		case OpNext:
			*v = p.Next[n.A]
		case OpPublic:
			*v = field.Lift(p.Public[n.A])
		case OpFirst:
			*v = p.First
		case OpLast:
			*v = p.Last
		case OpAdd:
			v.Add(&values[n.A], &values[n.B])
		case OpSub:
			v.Sub(&values[n.A], &values[n.B])
		case OpMul:
			if k := &c.nodes[n.A]; k.Op == OpConst {
				v.MulByElement(&values[n.B], &k.Value)
			} else if k := &c.nodes[n.B]; k.Op == OpConst {
				v.MulByElement(&values[n.A], &k.Value)
			} else {
				v.Mul(&values[n.A], &values[n.B])
			}
		case OpAux:
			*v = p.Aux[n.A]
		case OpAuxNext:
			*v = p.AuxNext[n.A]
		case OpAlpha:
			*v = p.Challenges.Alpha
		case OpBeta:
			*v = p.Challenges.Beta[n.A-1]
		case OpShift:
			*v = p.Challenges.Shift
		}
	}
	results := make([]field.Ext, len(c.constraints))
	for i, constraint := range c.constraints {
		results[i] = values[constraint.Node]
	}
	return results
}
