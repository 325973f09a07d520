package vm

// step reads one instruction.
func (b *body) step() {
	from := b.at
	opcode := b.code[from]
	b.at++
	known := &instructions[opcode]
	if known.float && !b.bounds.floats {
		b.refuse(reasonFloat)
	}
	b.cost += uint32(known.price)
	if known.jumps {
		b.cost += b.far
	}
	b.values += int(known.values)
	b.observed = b.observed || known.traps
	if known.stops() {
		b.place(from)
	}
	switch known.shape {
	case unknownInstruction:
		b.refuse(reasonInstruction)
	case memoryAccess:
		b.needMemory()
		if b.u32() > uint32(known.align) {
			b.refuse(reasonAlignment)
		}
		b.u32()
		b.typed(known)
	case plain:
		b.typed(known)
	case other:
		if known.ends {
			b.branches++
			b.decide()
			b.branch(opcode, from)
			b.settle(opcode)
		} else {
			b.straight(opcode, from)
		}
	}
}

// typed pops the operands of an instruction and pushes its result.
func (b *body) typed(known *instruction) {
	for i := int(known.operands) - 1; i >= 0; i-- {
		b.take(known.in[i])
	}
	b.giveResult(known.out)
}

// branch reads the rest of an instruction that ends a metered block.
func (b *body) branch(opcode byte, from int) {
	switch opcode {
	case opUnreachable:
		b.leave()
	case opLoop:
		b.branches += loopBranches
		b.push(opLoop, b.blockType())
	case opIf:
		t := b.blockType()
		b.take(I32)
		b.push(opIf, t)
		b.top().unpaid = b.unpaid // also on the path past the if
	case opElse:
		if b.top().opcode != opIf {
			b.refuse(reasonElse)
		}
		c := b.close()
		b.push(opElse, c.result)
		b.top().merge = c.merge
		b.top().unpaid, b.unpaid = max(c.unpaid, b.unpaid), c.unpaid
	case opEnd:
		c := b.close()
		if c.opcode == opIf && c.result != 0 {
			b.refuse(reasonNoElse)
		}
		b.giveResult(c.result)
		if len(b.controls) > 0 {
			b.meet(&c)
		}
	case opBr:
		b.takeResult(b.label())
		b.leave()
	case opBrIf:
		t := b.label()
		b.take(I32)
		b.takeResult(t)
		b.giveResult(t)
	case opBrTable:
		b.branchTable()
	case opReturn:
		b.takeResult(b.functionType.result)
		b.leave()
		b.replaceReturn(from)
	}
}

func (b *body) branchTable() {
	n := b.u32()
	if n > b.bounds.targets {
		b.refuse(reasonTargets)
	}
	b.branches += int(n)
	t := b.label()
	for range n { // the last of these is the default
		if b.label() != t {
			b.refuse(reasonLabelTypes)
		}
	}
	b.take(I32)
	b.takeResult(t)
	b.leave()
}

// straight reads the rest of an instruction that neither ends a metered block nor is plain.
func (b *body) straight(opcode byte, from int) {
	switch opcode {
	case opNop:
	case opBlock:
		b.push(opBlock, b.blockType())
	case opCall:
		index := b.functionIndex()
		t := b.functionTypeOf(index)
		b.takeParams(t.params)
		b.giveResult(t.result)
		b.replaceCall(from, index)
		b.calls++
	case opCallIndirect:
		t := &b.types[b.typeIndex()]
		b.reserved()
		if len(b.tables) == 0 {
			b.refuse(reasonTableIndex)
		}
		b.take(I32)
		b.takeParams(t.params)
		b.giveResult(t.result)
		b.called()
		b.calls++
	case opDrop:
		b.take(anyType)
	case opSelect:
		b.take(I32)
		b.give(b.take(b.take(anyType)))
	case opLocalGet:
		b.give(b.locals[b.local()])
	case opLocalSet:
		b.take(b.assign())
	case opLocalTee:
		b.give(b.take(b.assign()))
	case opGlobalGet:
		b.give(b.global().valueType)
	case opGlobalSet:
		g := b.global()
		if !g.mutable {
			b.refuse(reasonImmutable)
		}
		b.take(g.valueType)
	case opMemorySize:
		b.reserved()
		b.needMemory()
		b.give(I32)
	case opMemoryGrow:
		b.reserved()
		b.needMemory()
		b.take(I32)
		b.give(I32)
		b.replaceGrow(from)
		b.calls++
	default:
		b.number(opcode)
	}
}

func (b *body) number(opcode byte) {
	switch opcode {
	case opI32Const:
		b.signed(32)
		b.give(I32)
	case opI64Const:
		b.signed(64)
		b.give(I64)
	case opF32Const:
		b.bytes(4)
		b.give(f32)
	case opF64Const:
		b.bytes(8)
		b.give(f64)
	}
}
