package prover

import (
	"cmp"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
)

// A combination is up to six sums of vectors times scalars that are computed at once (field.Combine): the six
// coordinates of a linear form over E, or up to six linear forms over F_p. Most of a circuit that hashes is linear, and
// none of it is computed step by step.
type combination struct {
	forms   []int32
	sources []source
	dst     [field.Degree]int32 // vectors or absent
	total   bool                // the sums are the machine's total, and dst is absent
	more    bool                // the sums are added to the values already there
}

// form is a linear form of atoms, the nodes that are not linear: the weighted sum of roots.
type form struct {
	roots []int32
	walk  []int32 // the roots and all linear and scalar nodes below them, in descending order
	total bool    // the root weights are the constraints' weights, rather than 1 for the only root
}

// source is a vector of a combination: a coordinate of an atom.
type source struct {
	slot, atom int32
	coordinate int
}

// isLinear reports whether a node that differs from row to row is a linear operation on others.
func (k *compiler) isLinear(i int32) bool {
	n := k.circuit.Nodes()[i]
	switch n.Op {
	case air.OpAdd, air.OpSub:
		return !k.scalar[i]
	case air.OpMul:
		return k.scalar[n.A] != k.scalar[n.B]
	}
	return false
}

// form follows the roots down to atoms, which it returns in ascending order.
func (k *compiler) form(roots ...int32) (f form, atoms []int32) {
	f.roots = roots
	seen := make(map[int32]bool)
	pending := slices.Clone(roots)
	for len(pending) > 0 {
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		switch {
		case k.isLinear(i):
			n := k.circuit.Nodes()[i]
			f.walk = append(f.walk, i)
			if n.Op != air.OpMul || !k.scalar[n.A] {
				pending = append(pending, n.A)
			}
			if n.Op != air.OpMul || !k.scalar[n.B] {
				pending = append(pending, n.B)
			}
		case k.scalar[i]:
			f.walk = append(f.walk, i)
		default:
			atoms = append(atoms, i)
		}
	}
	slices.Sort(atoms)
	slices.SortFunc(f.walk, func(a, b int32) int { return cmp.Compare(b, a) })
	return f, atoms
}

// weigh sets weights to the factor of each node in the form, and returns the constant term. The weights are the
// derivatives of the sum of of[i]·roots[i], passed down from the roots. values are the values of the scalar nodes.
func (f *form) weigh(p *program, values, of, weights []field.Ext) (constant field.Ext) {
	clear(weights)
	add := func(i int32, w field.Ext) { weights[i].Add(&weights[i], &w) }
	for i, root := range f.roots {
		add(root, of[i])
	}
	for _, i := range f.walk {
		n, w := p.circuit.Nodes()[i], weights[i]
		switch {
		case p.scalar[i]:
			w.Mul(&w, &values[i])
			constant.Add(&constant, &w)
		case n.Op == air.OpMul && p.scalar[n.A]:
			add(n.B, *w.Mul(&w, &values[n.A]))
		case n.Op == air.OpMul:
			add(n.A, *w.Mul(&w, &values[n.B]))
		default:
			add(n.A, w)
			if n.Op == air.OpSub {
				w.Neg(&w)
			}
			add(n.B, w)
		}
	}
	return constant
}

// boundCombination is a combination for given public inputs and challenges.
type boundCombination struct {
	weights   field.Weights               // by source
	constants [field.Degree]field.Element // constant terms of the six sums
}

// bindCombinations binds all of the program's combinations to the values of scalar nodes. of are the weights of the
// constraints in the total.
func (p *program) bindCombinations(values, of []field.Ext) []boundCombination {
	one := []field.Ext{field.One()}
	weights := make([]field.Ext, len(values))
	bySource, constants := make([][]field.Ext, len(p.combinations)), make([]field.Ext, len(p.combinations))
	for i := range p.combinations {
		bySource[i] = make([]field.Ext, len(p.combinations[i].sources))
	}
	for number := range p.forms {
		f, roots := &p.forms[number], one
		if f.total {
			roots = of
		}
		constant := f.weigh(p, values, roots, weights)
		for i := range p.combinations {
			c := &p.combinations[i]
			n := slices.Index(c.forms, int32(number))
			if n < 0 {
				continue
			}
			unit := field.Basis(n) // a form over F_p is one coordinate; a form over E is all of them
			add := func(to *field.Ext, w field.Ext) { to.Add(to, w.Mul(&w, &unit)) }
			add(&constants[i], constant)
			for k, s := range c.sources {
				w, e := weights[s.atom], field.Basis(s.coordinate)
				add(&bySource[i][k], *w.Mul(&w, &e))
			}
		}
	}
	all := make([]boundCombination, len(p.combinations))
	for i := range all {
		all[i] = boundCombination{field.NewWeights(bySource[i]), field.Coordinates(&constants[i])}
	}
	return all
}

// sources returns the coordinates of atoms. It computes atoms that are not computed yet.
func (k *compiler) sources(atoms []int32) (all []source) {
	for _, atom := range atoms {
		for c, x := range k.node(atom) {
			if x.kind == vector {
				all = append(all, source{x.index, atom, c})
			}
		}
	}
	return all
}

// addForm adds a form to the program and returns its number.
func (k *compiler) addForm(f form) int32 {
	k.program.forms = append(k.program.forms, f)
	return int32(len(k.program.forms) - 1)
}

// combine adds the instruction of a combination and returns the vectors of its first n sums.
func (k *compiler) combine(c combination, n int) (v value) {
	for i := range c.dst {
		if c.dst[i] = absent; i < n {
			c.dst[i] = k.vectors
			v[i] = operand{vector, k.vectors}
			k.vectors++
		}
	}
	p := &k.program
	p.instructions = append(p.instructions, instruction{
		op: opCombine, dst: absent, a: int32(len(p.combinations)), b: absent,
	})
	p.combinations = append(p.combinations, c)
	return v
}

// minSources is the number of vectors from which a form over F_p is computed as a combination rather than by single
// operations.
const minSources = 4

// linear computes a linear node as a combination, unless it is too small, or has atoms over E.
func (k *compiler) linear(i int32) (v value, ok bool) {
	f, atoms := k.form(i)
	if slices.ContainsFunc(atoms, k.circuit.InExtension) {
		return v, false
	}
	if k.circuit.InExtension(i) {
		c := combination{sources: k.sources(atoms), forms: []int32{k.addForm(f)}}
		return k.combine(c, field.Degree), true
	}
	if len(atoms) < minSources {
		return v, false
	}
	k.pack(i)
	return k.values[i], true
}

// pack computes the linear node first over F_p as a combination, together with other wanted nodes of the same level, as
// many as a combination has sums.
func (k *compiler) pack(first int32) {
	var c combination
	var nodes, atoms []int32
	level := k.level(first)
	for i := first; int(i) < len(k.wanted) && len(nodes) < field.Degree; i++ {
		if _, done := k.values[i]; done || i != first && !k.wanted[i] || k.level(i) != level {
			continue
		}
		if f, of := k.form(i); len(of) >= minSources {
			nodes, c.forms, atoms = append(nodes, i), append(c.forms, k.addForm(f)), append(atoms, of...)
		}
	}
	slices.Sort(atoms)
	c.sources = k.sources(slices.Compact(atoms))
	v := k.combine(c, len(nodes))
	for n, node := range nodes {
		k.values[node] = value{v[n]}
	}
}

// want marks the linear nodes over F_p that are needed as vectors, because they are multiplied with others on the way
// to roots.
func (k *compiler) want(roots []int32) {
	k.wanted, k.levels = make([]bool, len(k.circuit.Nodes())), make(map[int32]int)
	seen := make(map[int32]bool)
	pending := slices.Clone(roots)
	for len(pending) > 0 {
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		n := k.circuit.Nodes()[i]
		if n.Op != air.OpAdd && n.Op != air.OpSub && n.Op != air.OpMul {
			continue
		}
		for _, operand := range []int32{n.A, n.B} {
			if n.Op == air.OpMul && !k.isLinear(i) && k.isLinear(operand) && !k.circuit.InExtension(operand) {
				k.wanted[operand] = true
			}
			pending = append(pending, operand)
		}
	}
}

// level returns the number of successive combinations that a node depends on.
func (k *compiler) level(i int32) int {
	if l, ok := k.levels[i]; ok {
		return l
	}
	l := 0
	switch n := k.circuit.Nodes()[i]; {
	case k.isLinear(i):
		_, atoms := k.form(i)
		for _, atom := range atoms {
			l = max(l, 1+k.level(atom))
		}
	case n.Op == air.OpMul && !k.scalar[i]:
		l = max(k.level(n.A), k.level(n.B))
	}
	k.levels[i] = l
	return l
}

// totalSources is about the number of vectors that are added to the total at once. That many wait in the caches.
const totalSources = 64

// total computes the weighted sum of roots, in the order of its atoms.
func (k *compiler) total(roots []int32) {
	f, atoms := k.form(roots...)
	f.total = true
	number := k.addForm(f)
	for more := false; len(atoms) > 0 || !more; more = true {
		c := combination{forms: []int32{number}, total: true, more: more}
		for len(atoms) > 0 && len(c.sources) < totalSources {
			c.sources, atoms = append(c.sources, k.sources(atoms[:1])...), atoms[1:]
		}
		k.combine(c, 0)
	}
}
