package air

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// Constraint is an expression that is 0 on every row.
type Constraint struct {
	Name string // for people
	Node int32
}

// Circuit is a finished circuit. It does not change and may be used concurrently.
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

// Build finishes the circuit: it adds the constraints of the buses, after all others. The builder must not be used
// any more.
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

// finish sets what is asked for with every proof and follows from the rest.
func (c *Circuit) finish() {
	degrees := c.Degrees()
	c.degree = 0
	for _, constraint := range c.constraints {
		c.degree = max(c.degree, degrees[constraint.Node])
	}
	c.digest = c.hash()
}

// Nodes are the expressions; operands stand before the operations on them. Callers do not change them.
func (c *Circuit) Nodes() []Node { return c.nodes }

// InExtension reports whether a node's values are in the extension field and not in the base field.
func (c *Circuit) InExtension(node int32) bool { return c.extension[node] }

// Columns are the columns' names. Callers do not change them.
func (c *Circuit) Columns() []string { return c.columns }

// PublicInputs is the number of public inputs.
func (c *Circuit) PublicInputs() int { return c.public }

// Constraints are all constraints, those of the buses last. Callers do not change them.
func (c *Circuit) Constraints() []Constraint { return c.constraints }

// Groups are the interactions by the helper column that their terms multiplicity/fingerprint of a row are added up in.
// Helper column g, in the extension field, holds the sum of group g. The last group has no helper column of its own:
// the last column is the accumulator. It grows from row to row by the sums of all groups less OpShift.
func (c *Circuit) Groups() [][]Interaction { return groups(c.interactions) }

// AuxColumns is the number of columns in the extension field: of helpers and the accumulator.
func (c *Circuit) AuxColumns() int { return len(c.Groups()) }

// Arity is the number of elements in the longest tuple on a bus.
func (c *Circuit) Arity() int { return c.arity }

// Degree is the highest degree of a constraint, where columns and the selectors of first and last row count 1.
func (c *Circuit) Degree() int { return c.degree }

// Degrees are the degrees of all nodes.
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

// Without is the circuit less constraint i: it accepts what only that constraint forbids. It is for tests.
func (c *Circuit) Without(i int) *Circuit {
	less := *c
	less.constraints = slices.Delete(slices.Clone(c.constraints), i, i+1)
	less.finish()
	return &less
}

// Digest names the circuit. It is SHA-256 over "cairn/circuit/v1" and these, as u32 little-endian. First come the
// numbers of columns, public inputs, nodes, constraints and interactions. Then each node is op, A, B and canonical
// value, each constraint its node, and each interaction its bus and the nodes of its multiplicity and fingerprint.
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
