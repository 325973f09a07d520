package prover

import (
	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
)

// A program computes expressions of a circuit for a block of rows at once. Each instruction is an operation on vectors
// over F_p; an element of E is six vectors. Values that are the same on every row are scalars, which are computed
// before.
type program struct {
	circuit      *air.Circuit
	instructions []instruction
	combinations []combination            // combinations for opCombine
	forms        []form                   // forms of the combinations
	inversions   [][2][field.Degree]int32 // destination and source for opInvert
	outputs      [][field.Degree]int32    // outputs for opYield: a vector for each coordinate, or absent
	slots        int                      // number of slots, including inputs
	inputs       inputs
	scalars      []scalar
	scalar       []bool // by node: it is the same on every row
}

// scalar is a coordinate of a node that is the same on every row.
type scalar struct {
	node       int32
	coordinate int
}

type opcode uint8

const (
	opAdd        opcode = iota // dst = a + b
	opSub                      // dst = a − b
	opMul                      // dst = a · b
	opAddScalar                // dst = a + scalar b
	opSubScalar                // dst = a − scalar b
	opFromScalar               // dst = scalar b − a
	opMulScalar                // dst = a · scalar b
	opFill                     // dst = scalar b
	opCombine                  // combination a
	opInvert                   // inversion a, over E
	opYield                    // output a is ready
)

// instruction is an operation on vectors, which are identified by their slots.
type instruction struct {
	op        opcode
	dst, a, b int32
}

const absent = -1

// inputs holds the first slots of a program's inputs: the columns, the columns on the next row, and so on.
type inputs struct {
	columns, next, aux, auxNext, first, last, end int32
}

func inputsOf(c *air.Circuit) (in inputs) {
	columns, aux := int32(len(c.Columns())), int32(field.Degree*c.AuxColumns())
	in.next = in.columns + columns
	in.aux = in.next + columns
	in.auxNext = in.aux + aux
	in.first = in.auxNext + aux
	in.last = in.first + 1
	in.end = in.last + 1
	return in
}

// operand is a coordinate: zero, a vector or a scalar.
type operand struct {
	kind  operandKind
	index int32 // slot of an input, number of a computed vector after the inputs, or number of a scalar
}

type operandKind uint8

const (
	zero operandKind = iota
	vector
	constant
)

// value is an element of F_p, with only the first coordinate, or of E.
type value [field.Degree]operand

// compiler translates expressions to instructions in which each vector is set once. allocate then shares slots between
// vectors.
type compiler struct {
	circuit *air.Circuit
	program program
	values  map[int32]value
	scalar  []bool // by node: it is the same on every row
	vectors int32
	wanted  []bool        // by node: marked by want
	levels  map[int32]int // by node, as far as computed
}

func newCompiler(c *air.Circuit) *compiler {
	k := &compiler{circuit: c, values: make(map[int32]value), scalar: make([]bool, len(c.Nodes()))}
	k.program.circuit, k.program.inputs, k.program.scalar = c, inputsOf(c), k.scalar
	k.vectors = k.program.inputs.end
	for i, n := range c.Nodes() {
		switch n.Op {
		case air.OpConst, air.OpPublic, air.OpAlpha, air.OpBeta, air.OpShift:
			k.scalar[i] = true
		case air.OpAdd, air.OpSub, air.OpMul:
			k.scalar[i] = k.scalar[n.A] && k.scalar[n.B]
		}
	}
	return k
}

// node returns the value of a node. It computes the node if it is not computed yet.
func (k *compiler) node(i int32) value {
	v, ok := k.values[i]
	if !ok && k.isLinear(i) {
		v, ok = k.linear(i)
	}
	if !ok {
		v = k.lower(i)
	}
	k.values[i] = v
	return v
}

func (k *compiler) lower(i int32) (v value) {
	if k.scalar[i] {
		return k.scalarNode(i)
	}
	n, in := k.circuit.Nodes()[i], &k.program.inputs
	input := func(first int32) value { return value{{vector, first}} }
	extension := func(first int32) (v value) {
		for c := range v {
			v[c] = operand{vector, first + field.Degree*n.A + int32(c)}
		}
		return v
	}
	switch n.Op {
	case air.OpColumn:
		return input(in.columns + n.A)
	case air.OpNext:
		return input(in.next + n.A)
	case air.OpFirst:
		return input(in.first)
	case air.OpLast:
		return input(in.last)
	case air.OpAux:
		return extension(in.aux)
	case air.OpAuxNext:
		return extension(in.auxNext)
	case air.OpAdd:
		return k.add(k.node(n.A), k.node(n.B))
	case air.OpSub:
		return k.sub(k.node(n.A), k.node(n.B))
	default:
		return k.mul(k.node(n.A), k.node(n.B))
	}
}

func (k *compiler) scalarNode(i int32) (v value) {
	for c := range v {
		if c > 0 && !k.circuit.InExtension(i) {
			break
		}
		v[c] = operand{constant, int32(len(k.program.scalars))}
		k.program.scalars = append(k.program.scalars, scalar{i, c})
	}
	return v
}

func (k *compiler) emit(op opcode, a, b int32) operand {
	dst := k.vectors
	k.vectors++
	k.program.instructions = append(k.program.instructions, instruction{op, dst, a, b})
	return operand{vector, dst}
}

// fill converts a scalar to a vector.
func (k *compiler) fill(x operand) operand {
	if x.kind == constant {
		return k.emit(opFill, absent, x.index)
	}
	return x
}

func (k *compiler) add(x, y value) (v value) {
	for c := range v {
		v[c] = k.addOne(x[c], y[c])
	}
	return v
}

func (k *compiler) addOne(x, y operand) operand {
	switch {
	case x.kind == zero:
		return y
	case y.kind == zero:
		return x
	case y.kind == constant:
		return k.emit(opAddScalar, k.fill(x).index, y.index)
	case x.kind == constant:
		return k.emit(opAddScalar, y.index, x.index)
	}
	return k.emit(opAdd, x.index, y.index)
}

func (k *compiler) sub(x, y value) (v value) {
	for c := range v {
		v[c] = k.subOne(x[c], y[c])
	}
	return v
}

func (k *compiler) subOne(x, y operand) operand {
	switch {
	case y.kind == zero:
		return x
	case x.kind == zero: // no scalar is known to be zero, so y − y is a vector of zeros
		y = k.fill(y)
		return k.emit(opSub, k.emit(opSub, y.index, y.index).index, y.index)
	case y.kind == constant:
		return k.emit(opSubScalar, k.fill(x).index, y.index)
	case x.kind == constant:
		return k.emit(opFromScalar, y.index, x.index)
	}
	return k.emit(opSub, x.index, y.index)
}

func (k *compiler) mulOne(x, y operand) operand {
	switch {
	case x.kind == zero || y.kind == zero:
		return operand{}
	case y.kind == constant:
		return k.emit(opMulScalar, k.fill(x).index, y.index)
	case x.kind == constant:
		return k.emit(opMulScalar, y.index, x.index)
	}
	return k.emit(opMul, x.index, y.index)
}

// mul multiplies polynomials in u and v and reduces them by u² = 3 and v³ = u + 1. Coordinate 2i + j belongs to
// v^i·u^j.
func (k *compiler) mul(x, y value) (v value) {
	var w [5][3]operand
	for i := range x {
		for j := range y {
			to := &w[i/2+j/2][i%2+j%2]
			*to = k.addOne(*to, k.mulOne(x[i], y[j]))
		}
	}
	for i := 4; i >= 0; i-- {
		if square := w[i][2]; square.kind != zero {
			triple := k.addOne(k.addOne(square, square), square)
			w[i][0] = k.addOne(w[i][0], triple)
		}
		if i >= 3 { // v^i·(a + bu) = v^(i−3)·(a + (a + b)·u + b·u²)
			for j := range 2 {
				w[i-3][j] = k.addOne(w[i-3][j], w[i][j])
				w[i-3][j+1] = k.addOne(w[i-3][j+1], w[i][j])
			}
		}
	}
	for i := range v {
		v[i] = w[i/2][i%2]
	}
	return v
}

// invert inverts over E. Zero stays zero.
func (k *compiler) invert(x value) (v value) {
	var both [2][field.Degree]int32
	for c := range x {
		both[1][c] = absent
		if x[c].kind != zero {
			both[1][c] = k.fill(x[c]).index
		}
		v[c] = operand{vector, k.vectors}
		both[0][c] = k.vectors
		k.vectors++
	}
	k.program.instructions = append(k.program.instructions, instruction{
		op: opInvert, dst: absent, a: int32(len(k.program.inversions)), b: absent,
	})
	k.program.inversions = append(k.program.inversions, both)
	return v
}

// yield makes x the next output.
func (k *compiler) yield(x value) {
	var out [field.Degree]int32
	for c := range x {
		out[c] = absent
		if x[c].kind != zero {
			out[c] = k.fill(x[c]).index
		}
	}
	k.program.instructions = append(k.program.instructions, instruction{
		op: opYield, dst: absent, a: int32(len(k.program.outputs)), b: absent,
	})
	k.program.outputs = append(k.program.outputs, out)
}

// compileConstraints returns the program whose total is the weighted sum of the constraints.
func compileConstraints(c *air.Circuit) *program {
	k := newCompiler(c)
	var roots []int32
	for _, constraint := range c.Constraints() {
		roots = append(roots, constraint.Node)
	}
	k.want(roots)
	k.total(roots)
	return k.allocate()
}

// compileBuses returns the program whose outputs are the sums of multiplicity/fingerprint over each group of
// interactions. It inverts the fingerprints of a row with one inversion (Montgomery's trick).
func compileBuses(c *air.Circuit) *program {
	k := newCompiler(c)
	var roots []int32
	for _, group := range c.Groups() {
		for _, interaction := range group {
			roots = append(roots, interaction.Multiplicity, interaction.Fingerprint)
		}
	}
	k.want(roots)
	var fingerprints, before []value // before[i] is the product of the fingerprints before i
	var product value
	for _, group := range c.Groups() {
		for _, interaction := range group {
			d := k.node(interaction.Fingerprint)
			if before = append(before, product); len(fingerprints) == 0 {
				product = d
			} else {
				product = k.mul(product, d)
			}
			fingerprints = append(fingerprints, d)
		}
	}
	if len(fingerprints) == 0 {
		return k.allocate()
	}
	inverse := k.invert(product)
	inverses := make([]value, len(fingerprints))
	for i := len(fingerprints) - 1; i > 0; i-- {
		inverses[i] = k.mul(inverse, before[i])
		inverse = k.mul(inverse, fingerprints[i])
	}
	inverses[0] = inverse
	for _, group := range c.Groups() {
		var sum value
		for _, interaction := range group {
			sum = k.add(sum, k.mul(k.node(interaction.Multiplicity), inverses[0]))
			inverses = inverses[1:]
		}
		k.yield(sum)
	}
	return k.allocate()
}
