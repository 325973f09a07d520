package prover

import "slices"

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

// lastReads returns for each vector the last instruction that reads it.
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

// allocator writes slots in place of the vectors of a program, one instruction after the other.
type allocator struct {
	*program
	lastRead []int   // by vector
	slots    []int32 // by vector
	free     []int32 // slots of no vector that is still read
	used     int32   // slots, free ones included
}

// place gives an instruction its slots. An operation may overwrite what it reads. A combination sets some of what it
// writes before it has read all, so that this takes slots before what it reads frees them.
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

// occupy gives a vector a slot that is free, or a new one.
func (a *allocator) occupy(v int32) int32 {
	if n := len(a.free); n > 0 {
		a.slots[v], a.free = a.free[n-1], a.free[:n-1]
	} else {
		a.slots[v] = a.used
		a.used++
	}
	return a.slots[v]
}

// release frees the slots of what an instruction was the last to read. An input's slot stays.
func (a *allocator) release(at int, read []int32) {
	for n, v := range read {
		if v >= a.inputs.end && a.lastRead[v] == at && !slices.Contains(read[:n], v) {
			a.free = append(a.free, a.slots[v])
		}
	}
}

// rename writes slots in place of vectors.
func (a *allocator) rename(vectors []int32) {
	for c, v := range vectors {
		if v != absent {
			vectors[c] = a.slots[v]
		}
	}
}
