package vm

import (
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// What is counted in addition to a function's variables: in its frame, and for the price of its deploy.
const (
	frameSlots   = 16
	ownVariables = 4
)

// loopBranches is how many branches a loop has beside its metered block: those of its check of the gas.
const loopBranches = 2

// anyType is the type of an operand in dead code: the Unknown of the specification's algorithm.
const anyType ValueType = 0

// control is an open block, or the function itself.
type control struct {
	opcode byte
	result ValueType // 0: none
	height int       // of the operand stack below it
	dead   bool      // the rest of it cannot be reached
	merge
}

// body validates the body of a function by the algorithm in the appendix of WebAssembly Core 1.0, and rewrites it on
// the way (rewrite.go). One body serves all functions of a module, one after the other, to keep its memory.
type body struct {
	*parsed
	functionType functionType
	locals       []ValueType // params and declared locals
	operands     []ValueType
	controls     []control
	highest      int // largest number of operands
	branches     int // for what they cost in a deploy
	merges       int // slots of the frame for what meets at merges
	values       int // slots of the frame for what instructions make
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

// variables is how many params, locals and operands the function has at a time.
func (b *body) variables() int { return len(b.locals) + b.highest }

// frame is how many slots the function takes while it is active.
func (b *body) frame() int { return frameSlots + b.variables() + b.merges + b.values }

// readLocals reads the declarations of locals and returns how many groups they are, and them as they were written.
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

// take pops an operand of a type, or of any, and returns its type as far as it is known.
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

// leave makes the rest of the innermost block dead.
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

// label reads the index of a label and gives the type that a branch to it takes: none for a loop.
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

// assign reads a local that is set, and gives its type.
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

// takeParams pops the arguments of a call. In dead code without operands left the rest of them is there by definition:
// a type of very many params costs nothing.
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
