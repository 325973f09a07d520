package air

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// Constraint is an expression that must be 0 on every row.
type Constraint struct {
	Name string // for people
	Node int32
}

// Circuit is a finished circuit. It is immutable and safe for concurrent use.
type Circuit struct {
	nodes        []Node
	extension    []bool
	columns      []string
	public       int
	constraints  []Constraint
	interactions []Interaction
	buses        []busShape
	arity        int
	degree       int
	digest       [sha256.Size]byte
}

// Build finishes the circuit: it adds the constraints of the buses after all others. The builder must not be used
// afterwards.
func (b *Builder) Build() *Circuit {
	b.constrainBuses()
	c := &Circuit{
		nodes:        b.nodes,
		extension:    b.extension,
		columns:      b.columns,
		public:       b.public,
		constraints:  b.constraints,
		interactions: b.interactions,
		buses:        b.buses,
	}
	for _, it := range b.interactions {
		c.arity = max(c.arity, len(it.Tuple))
	}
	c.finish()
	return c
}

// finish sets the derived fields that are needed for every proof.
func (c *Circuit) finish() {
	degrees := c.Degrees()
	c.degree = 0
	for _, constraint := range c.constraints {
		c.degree = max(c.degree, degrees[constraint.Node])
	}
	c.digest = c.hash()
}

// Nodes returns the expressions. Operands precede operations on them. Callers must not modify the result.
func (c *Circuit) Nodes() []Node { return c.nodes }

// InExtension reports whether a node's values are in the extension field rather than the base field.
func (c *Circuit) InExtension(node int32) bool { return c.extension[node] }

// Columns returns the names of the columns. Callers must not modify the result.
func (c *Circuit) Columns() []string { return c.columns }

// PublicInputs returns the number of public inputs.
func (c *Circuit) PublicInputs() int { return c.public }

// Constraints returns all constraints; the constraints of the buses come last. Callers must not modify the result.
func (c *Circuit) Constraints() []Constraint { return c.constraints }

// Groups returns the interactions grouped by the helper column that sums up their terms multiplicity/fingerprint on a
// row. Helper column g, in the extension field, holds the sum of group g. The last group has no helper column: the last
// column is the accumulator, which grows from row to row by the sums of all groups minus OpShift.
func (c *Circuit) Groups() [][]Interaction { return groups(c.interactions) }

// AuxColumns returns the number of columns in the extension field, which are the helpers and the accumulator.
func (c *Circuit) AuxColumns() int { return len(c.Groups()) }

// Arity returns the number of elements in the longest tuple on a bus.
func (c *Circuit) Arity() int { return c.arity }

// Degree returns the highest degree of a constraint. Columns and the selectors of first and last row have degree 1.
func (c *Circuit) Degree() int { return c.degree }

// Degrees returns the degrees of all nodes.
func (c *Circuit) Degrees() []int {
	degrees := make([]int, len(c.nodes))
	for i, n := range c.nodes {
		switch n.Op {
		case OpColumn, OpNext, OpFirst, OpLast, OpAux, OpAuxNext:
			degrees[i] = 1
		case OpAdd, OpSub:
			degrees[i] = max(degrees[n.A], degrees[n.B])
		case OpMul:
			degrees[i] = degrees[n.A] + degrees[n.B]
		}
	}
	return degrees
}

// Without returns the circuit without constraint i, for tests: it also accepts tables that only this constraint
// forbids.
func (c *Circuit) Without(i int) *Circuit {
	less := *c
	less.constraints = slices.Delete(slices.Clone(c.constraints), i, i+1)
	less.finish()
	return &less
}

// Digest returns a hash that identifies the circuit. It is SHA-256 over "cairn/circuit/v1" and the following, as u32
// little-endian: the numbers of columns, public inputs, nodes, constraints and interactions; for each node op, A, B and
// canonical value; for each constraint its node; and for each interaction its bus and the nodes of its multiplicity and
// fingerprint.
func (c *Circuit) Digest() [sha256.Size]byte { return c.digest }

func (c *Circuit) hash() [sha256.Size]byte {
	b := []byte("cairn/circuit/v1")
	u32 := func(values ...int) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	u32(len(c.columns), c.public, len(c.nodes), len(c.constraints), len(c.interactions))
	for _, n := range c.nodes {
		u32(int(n.Op), int(n.A), int(n.B))
		b = field.Append(b, &n.Value)
	}
	for _, constraint := range c.constraints {
		u32(int(constraint.Node))
	}
	for _, it := range c.interactions {
		u32(it.Bus, int(it.Multiplicity), int(it.Fingerprint))
	}
	return sha256.Sum256(b)
}
