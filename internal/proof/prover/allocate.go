package prover

import "slices"

// reads returns the vectors that an instruction reads.
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

// slots returns the vectors that a combination reads.
func (c *combination) slots() []int32 {
	slots := make([]int32, len(c.sources))
	for k, s := range c.sources {
		slots[k] = s.slot
	}
	return slots
}

// allocate assigns slots to vectors. The last read of a vector frees its slot, so that a program uses as little memory
// as possible.
func (k *compiler) allocate() *program {
	p := &k.program
	a := allocator{program: p, lastRead: p.lastReads(k.vectors), slots: make([]int32, k.vectors), used: p.inputs.end}
	for v := range p.inputs.end {
		a.slots[v] = v
	}
	for at := range p.instructions {
		a.place(at)
	}
	p.slots = int(a.used)
	return p
}

// lastReads returns, for each vector, the last instruction that reads it.
func (p *program) lastReads(vectors int32) []int {
	last := make([]int, vectors)
	for at, i := range p.instructions {
		for _, v := range p.reads(i) {
			if v != absent {
				last[v] = at
			}
		}
	}
	return last
}

// allocator replaces the vectors of a program by slots, one instruction after the other.
type allocator struct {
	*program
	lastRead []int   // by vector
	slots    []int32 // by vector
	free     []int32 // slots of vectors that are not read any more
	used     int32   // number of slots, including free ones
}

// place assigns slots to the vectors of an instruction. An operation may overwrite its operands. A combination writes
// some results before it has read all sources, so its results take slots before its sources release theirs.
func (a *allocator) place(at int) {
	i := &a.instructions[at]
	read := append([]int32{}, a.reads(*i)...)
	switch i.op {
	case opCombine:
		c := &a.combinations[i.a]
		for k, s := range c.sources {
			c.sources[k].slot = a.slots[s.slot]
		}
		for n, v := range c.dst {
			if v != absent {
				c.dst[n] = a.occupy(v)
			}
		}
		a.release(at, read)
	case opInvert:
		both := &a.inversions[i.a]
		a.rename(both[1][:])
		for c, v := range both[0] { // all are set after all are read, so they share no slot with them
			both[0][c] = a.occupy(v)
		}
		a.release(at, read)
	case opYield:
		a.rename(a.outputs[i.a][:])
		a.release(at, read)
	default:
		if i.a != absent {
			i.a = a.slots[i.a]
		}
		if i.op <= opMul {
			i.b = a.slots[i.b]
		}
		a.release(at, read)
		i.dst = a.occupy(i.dst)
	}
}

// occupy assigns a free slot, or a new one, to a vector.
func (a *allocator) occupy(v int32) int32 {
	if n := len(a.free); n > 0 {
		a.slots[v], a.free = a.free[n-1], a.free[:n-1]
	} else {
		a.slots[v] = a.used
		a.used++
	}
	return a.slots[v]
}

// release frees the slots of vectors that this instruction is the last to read. Inputs keep their slots.
func (a *allocator) release(at int, read []int32) {
	for n, v := range read {
		if v >= a.inputs.end && a.lastRead[v] == at && !slices.Contains(read[:n], v) {
			a.free = append(a.free, a.slots[v])
		}
	}
}

// rename replaces vectors by their slots.
func (a *allocator) rename(vectors []int32) {
	for c, v := range vectors {
		if v != absent {
			vectors[c] = a.slots[v]
		}
	}
}
