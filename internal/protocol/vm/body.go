package vm

import (
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Slots added to a function's variables: in its frame, and in the price of its deploy.
const (
	frameSlots   = 16
	ownVariables = 4
)

// loopBranches is the number of branches that the gas check of a loop adds.
const loopBranches = 2

// anyType is the type of an operand in dead code: the Unknown of the specification's algorithm.
const anyType ValueType = 0

// control is an open block, or the function itself.
type control struct {
	opcode byte
	result ValueType // 0 for none
	height int       // height of the operand stack below the block
	dead   bool      // the rest of the block is unreachable
	merge
}

// body validates function bodies by the algorithm in the appendix of WebAssembly Core 1.0 and rewrites them in the same
// pass (see [rewriter]). One body is reused for all functions of a module, to reuse its memory.
type body struct {
	*parsed
	functionType functionType
	locals       []ValueType // params and declared locals
	operands     []ValueType
	controls     []control
	highest      int // largest number of operands at a time
	branches     int // branches, for the price of the deploy
	merges       int // frame slots for values that meet at merges
	values       int // frame slots for values that instructions produce
	rewriter
}

// readBodies reads the code section.
func (p *parsed) readBodies(n int) {
	if n != len(p.functions)-p.imported {
		p.refuse(reasonCodeCount)
	}
	b := &body{parsed: p, rewriter: newRewriter(p)}
	p.bodies = make([]byte, 0, 3*(p.end-p.at))
	sectionEnd := p.end
	for i := range n {
		size := p.u32()
		if size > p.bounds.body {
			p.refuse(reasonBodyBytes)
		}
		if uint64(size) > uint64(sectionEnd-p.at) {
			p.refuse(reasonEnd)
		}
		p.end = p.at + int(size)
		before := p.deployGas
		p.deployGas += schedule.DeployBodyByte * types.Gas(size)
		b.read(*p.functionTypeOf(uint32(p.imported + i)))
		p.functionGas = append(p.functionGas, p.deployGas-before)
		p.end = sectionEnd
		p.bodyCount++
	}
}

// read validates and rewrites one code entry.
func (b *body) read(t functionType) {
	b.functionType = t
	b.operands, b.controls, b.highest, b.branches, b.merges, b.values = b.operands[:0], b.controls[:0], 0, 0, 0, 0
	groups, locals := b.readLocals()
	blocks, calls := len(b.blocks), b.calls+b.looks
	b.push(opBlock, t.result)
	b.begin()
	for len(b.controls) > 0 {
		if b.at >= b.end {
			b.refuse(reasonBodyEnd)
		}
		b.step()
	}
	if b.at != b.end {
		b.refuse(reasonBodySize)
	}
	if b.frame() > b.bounds.slots {
		b.refuse(reasonSlots)
	}
	branches := types.Gas(b.branches)
	b.weight += uint64(schedule.WeightFunction)
	b.deployGas += schedule.DeployFunction +
		schedule.DeployBranches*branches*branches*types.Gas(b.variables()+ownVariables)
	b.finish(groups, locals)
	b.mostCalls = max(b.mostCalls, b.calls+b.looks-calls)
	b.noteGas += schedule.DeployBranches * branches * branches * types.Gas(b.noted(blocks))
}

// variables returns the number of the function's params and locals plus its largest number of operands.
func (b *body) variables() int { return len(b.locals) + b.highest }

// frame returns the number of slots that the function takes while it is active.
func (b *body) frame() int { return frameSlots + b.variables() + b.merges + b.values }

// readLocals reads the declarations of locals. It returns the number of groups and their encoding.
func (b *body) readLocals() (groups int, declared []byte) {
	b.locals = b.locals[:0]
	b.locals = append(b.locals, b.functionType.params...)
	groups = b.count()
	from := b.at
	for range groups {
		many := uint64(b.u32())
		if uint64(len(b.locals))+many > b.bounds.locals {
			b.refuse(reasonLocals)
		}
		if b.allLocals += many; b.allLocals > b.bounds.allLocals {
			b.refuse(reasonAllLocals)
		}
		t := b.valueType()
		for range many {
			b.locals = append(b.locals, t)
		}
	}
	if uint64(len(b.locals)) > b.bounds.locals {
		b.refuse(reasonLocals)
	}
	return groups, b.code[from:b.at]
}

// push opens a block.
func (b *body) push(opcode byte, result ValueType) {
	if len(b.controls) > b.bounds.nesting {
		b.refuse(reasonNesting)
	}
	b.controls = append(b.controls, control{opcode: opcode, result: result, height: len(b.operands)})
}

// top is the innermost block.
func (b *body) top() *control { return &b.controls[len(b.controls)-1] }

// give pushes an operand.
func (b *body) give(t ValueType) {
	b.operands = append(b.operands, t)
	b.highest = max(b.highest, len(b.operands))
}

// take pops an operand of type want, or of any type if want is [anyType]. It returns the operand's type if known.
func (b *body) take(want ValueType) ValueType {
	c := b.top()
	if len(b.operands) == c.height {
		if !c.dead {
			b.refuse(reasonNoOperand)
		}
		return want
	}
	got := b.operands[len(b.operands)-1]
	b.operands = b.operands[:len(b.operands)-1]
	if got == anyType {
		return want
	}
	if want != anyType && got != want {
		b.refuse(reasonOperandType)
	}
	return got
}

// takeResult pops a result if there is one.
func (b *body) takeResult(t ValueType) {
	if t != 0 {
		b.take(t)
	}
}

// giveResult pushes a result if there is one.
func (b *body) giveResult(t ValueType) {
	if t != 0 {
		b.give(t)
	}
}

// leave marks the rest of the innermost block as dead.
func (b *body) leave() {
	c := b.top()
	b.operands = b.operands[:c.height]
	c.dead = true
	b.unpaid = 0
}

// close ends the innermost block and returns it.
func (b *body) close() control {
	c := *b.top()
	b.takeResult(c.result)
	if len(b.operands) != c.height {
		b.refuse(reasonLeftOver)
	}
	b.controls = b.controls[:len(b.controls)-1]
	return c
}

// label reads the index of a label and returns the type of operand that a branch to it takes: none for a loop.
func (b *body) label() ValueType {
	index := b.u32()
	if uint64(index) >= uint64(len(b.controls)) {
		b.refuse(reasonLabel)
	}
	c := &b.controls[len(b.controls)-1-int(index)]
	c.branches++
	c.unpaid = max(c.unpaid, b.unpaid)
	if c.opcode == opLoop {
		return 0
	}
	return c.result
}

func (b *body) local() uint32 {
	index := b.u32()
	if uint64(index) >= uint64(len(b.locals)) {
		b.refuse(reasonLocalIndex)
	}
	return index
}

// assign reads the index of a local that is assigned, and returns the local's type.
func (b *body) assign() ValueType {
	index := b.local()
	b.top().assigned.add(index)
	return b.locals[index]
}

func (b *body) global() *globalEntry {
	index := b.u32()
	if uint64(index) >= uint64(len(b.globals)) {
		b.refuse(reasonGlobalIndex)
	}
	return &b.globals[index]
}

func (b *body) blockType() ValueType {
	if b.at < b.end && b.code[b.at] == emptyBlock {
		b.at++
		return 0
	}
	return b.valueType()
}

// takeParams pops the arguments of a call. In dead code the missing operands are assumed to be there, so a type with
// very many params costs nothing.
func (b *body) takeParams(params []ValueType) {
	for _, t := range slices.Backward(params) {
		if c := b.top(); c.dead && len(b.operands) == c.height {
			return
		}
		b.take(t)
	}
}

// reserved reads a byte that must be 0.
func (b *body) reserved() {
	if b.byte() != 0 {
		b.refuse(reasonReserved)
	}
}

func (b *body) needMemory() {
	if len(b.memories) == 0 {
		b.refuse(reasonMemoryIndex)
	}
}

// localSet is a set of locals. A contract's function has at most 100.
type localSet [2]uint64

func (s *localSet) add(index uint32) { s[index/64%2] |= 1 << (index % 64) }

func (s *localSet) addAll(other *localSet) {
	s[0] |= other[0]
	s[1] |= other[1]
}

func (s *localSet) size() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

// merge is the information about the merge of a construct, the point where branches meet: after the end of a block or
// an if, at the beginning of a loop. There an optimising engine creates a value for each local that is assigned inside,
// and moves it on each path into the merge. Each path pays for these moves (docs/protocol.md, "Metering").
type merge struct {
	assigned localSet
	branches int    // branches that target the construct
	unpaid   uint32 // maximum gas that may be unpaid on a branch to its end
	price    int    // loops only: offset in out of the price of the first metered block; 0 if not yet known
	cost     uint32 // loops only: that price without the merge's
}

// width returns the number of values that meet at the merge of c, as far as c has been read.
func (c *control) width() int {
	width := c.assigned.size()
	if c.opcode != opLoop && c.result != 0 {
		width++
	}
	return width
}

// meet adds the price of a closed construct's merge, and its slots to the frame.
func (b *body) meet(c *control) {
	b.top().assigned.addAll(&c.assigned)
	width := c.width()
	price := uint32(schedule.Merge) + uint32(schedule.MergeValue)*uint32(width)
	switch {
	case c.opcode == opLoop && c.branches > 0:
		b.merges += (width + 1) * (1 + c.branches)
		b.patch(c.price, c.cost+price)
		b.weight += uint64(price)
	case c.opcode == opIf || c.opcode == opElse || c.opcode == opBlock && c.branches > 0:
		b.merges += width + 1
		b.mergePrice = price
	}
	if c.opcode != opLoop {
		b.unpaid = max(b.unpaid, c.unpaid)
	}
}
