package prover

// reads and writes return the vectors that an instruction uses.
func (p *program) reads(i instruction) []int32 {
	switch i.op {
	case opAdd, opSub, opMul:
		return []int32{i.a, i.b}
	case opCombine:
		return p.combinations[i.a].slots()
	case opInvert:
		return p.inversions[i.a][1][:]
	case opYield:
		return p.outputs[i.a][:]
	case opFill:
		return nil
	default:
		return []int32{i.a}
	}
}

// slots returns the vectors that a combination uses.
func (c *combination) slots() []int32 {
	slots := make([]int32, len(c.sources))
	for k, s := range c.sources {
		slots[k] = s.slot
	}
	return slots
}

// allocate gives vectors slots: one that is read for the last time makes its slot free, so that a program works on as
// little memory as it can.
func (k *compiler) allocate() *program {
	p := &k.program
	lastRead := make([]int, k.vectors)
	for at, i := range p.instructions {
		for _, v := range p.reads(i) {
			if v != absent {
				lastRead[v] = at
			}
		}
	}
	slots := make([]int32, k.vectors) // by vector
	for v := range p.inputs.end {
		slots[v] = v
	}
	var free []int32
	used := p.inputs.end
	take := func(v int32) int32 {
		if n := len(free); n > 0 {
			slots[v], free = free[n-1], free[:n-1]
		} else {
			slots[v] = used
			used++
		}
		return slots[v]
	}
	release := func(at int, read []int32) {
		for n, v := range read {
			repeated := false
			for _, other := range read[:n] {
				repeated = repeated || other == v
			}
			if v >= p.inputs.end && lastRead[v] == at && !repeated {
				free = append(free, slots[v])
			}
		}
	}
	rename := func(vectors []int32) {
		for c, v := range vectors {
			if v != absent {
				vectors[c] = slots[v]
			}
		}
	}
	for at := range p.instructions {
		i := &p.instructions[at]
		read := append([]int32{}, p.reads(*i)...)
		switch i.op {
		case opCombine:
			c := &p.combinations[i.a]
			for k, s := range c.sources {
				c.sources[k].slot = slots[s.slot]
			}
			for n, v := range c.dst {
				if v != absent { // set before all are read
					c.dst[n] = take(v)
				}
			}
			release(at, read)
		case opInvert:
			both := &p.inversions[i.a]
			rename(both[1][:])
			for c, v := range both[0] { // all are set after all are read, so they share no slot with them
				both[0][c] = take(v)
			}
			release(at, read)
		case opYield:
			rename(p.outputs[i.a][:])
			release(at, read)
		default:
			if i.a != absent {
				i.a = slots[i.a]
			}
			if i.op <= opMul {
				i.b = slots[i.b]
			}
			release(at, read) // an operation may overwrite what it reads
			i.dst = take(i.dst)
		}
	}
	p.slots = int(used)
	return p
}
