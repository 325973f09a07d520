package vm

import "slices"

// added holds the indices of the additions to the rewritten module. They come after the guest's own in each index
// space. Only the functions that the guest defines move up, because imports come first.
type added struct {
	gas, stack   uint32 // globals
	refill, grow uint32 // imported functions
	// Functions. settleFunction is the slow path of a gas check; growFunction replaces memory.grow.
	settleFunction, growFunction, resetFunction uint32
	// Types: () → (), (i64) → i64, (i32) → i32.
	emptyType, refillType, growType uint32
}

// addedImports is the distance by which the guest's own functions move up.
const addedImports = 2

func newAdded(p *parsed) added {
	imported, all := uint32(p.imported), uint32(len(p.functions))
	globals, types := uint32(len(p.globals)), uint32(len(p.types))
	return added{
		gas:            globals,
		stack:          globals + 1,
		refill:         imported,
		grow:           imported + 1,
		settleFunction: all + addedImports,
		growFunction:   all + addedImports + 1,
		resetFunction:  all + addedImports + 2,
		emptyType:      types,
		refillType:     types + 1,
		growType:       types + 2,
	}
}

// moved returns the index of a guest's function in the rewritten module.
func (p *parsed) moved(function uint32) uint32 {
	if function < uint32(p.imported) {
		return function
	}
	return function + addedImports
}

// rewriter rewrites the body that is being read.
//
// Each metered block subtracts its price from the gas and continues even if the result is below 0: a branch at each
// block would make compilation much slower. The code checks whether the gas is below 0 when a function is entered,
// before its first block is paid; at the function's end; in the first block of each loop; and in any block that could
// otherwise run with more than mostUnpaid gas unchecked. The engine checks at host functions, growth of memory and
// traps. So unpaid execution is bounded by mostUnpaid: a branch back passes a loop's first block, a call passes an
// entry, and at any other point the rewriter knows the maximum gas taken on any path since the last check. Unpaid
// execution has no effect outside the instance, which is discarded.
//
// A function keeps the gas in a local, which an engine holds in a register: reading back a global that was just written
// takes longer than most blocks. The global has the same value wherever other code can see it: from the beginning of a
// metered block that may trap or that calls, at the function's end, and after a failed check.
//
// The guest's instructions are copied, with three exceptions: calls to functions that moved; memory.grow, which becomes
// a call; and return, which becomes a branch to the end. The function's instructions are enclosed in a block, after
// which the frame is given back.
type rewriter struct {
	added
	out      []byte // rewritten instructions so far
	copied   int    // the code before this offset is copied to out or replaced
	gasLocal uint32 // the local that holds the gas, after the guest's own

	// The metered block that is being rewritten:
	run      int    // its start in out
	from     int    // its start in the code
	looped   bool   // it is the first block of a loop
	alive    bool   // it is reachable
	observed bool   // the global must hold the gas in it, as it may trap or calls
	cost     uint32 // price so far
	checked  bool   // it checks the gas
	unpaid   uint32 // maximum gas taken on any path to here since the last check
	// mergePrice is the price of the merge before the next block, which is added to that block.
	mergePrice uint32
	loop       int // index of its loop in the open blocks, if it is the first block of one
	priceAt    int // offset in charge of its price, if it is the first block of a loop

	charge, entry []byte // reused buffers
}

// mostUnpaid is the maximum gas that may be taken before the gas is checked.
const mostUnpaid = 1_000

func newRewriter(p *parsed) rewriter { return rewriter{added: newAdded(p)} }

// appendCharge writes instructions that take the price of the metered block: gas −= price. If open, the price has a
// fixed width, so that it can be patched.
func (r *rewriter) appendCharge(out []byte, open bool) []byte {
	out = appendU32(append(out, opLocalGet), r.gasLocal)
	if out = append(out, opI64Const); open {
		r.priceAt = len(out)
		out = append(out, patched(r.cost)...)
	} else {
		out = appendS64(out, int64(r.cost))
	}
	out = append(out, opI64Sub)
	if !r.observed {
		return appendU32(append(out, opLocalSet), r.gasLocal)
	}
	out = appendU32(append(out, opLocalTee), r.gasLocal)
	return appendU32(append(out, opGlobalSet), r.gas)
}

// appendSettleIfNegative writes a call of settleFunction if the operand is below 0. The branch that does nothing comes
// first: after an if, wazero keeps values in registers that were in registers at the end of the first branch.
func (r *rewriter) appendSettleIfNegative(out []byte) []byte {
	out = append(out, opI64Const, 0, opI64GeS, opIf, emptyBlock, opElse)
	out = appendU32(append(out, opLocalGet), r.gasLocal)
	out = appendU32(append(out, opCall), r.settleFunction)
	return append(appendU32(append(out, opLocalSet), r.gasLocal), opEnd)
}

// appendOverflow writes instructions that push an operand below 0 if the stack global has overflowed: it combines the
// signs of both halves in the highest bit.
func (a *added) appendOverflow(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), a.stack)
	out = appendU32(append(out, opGlobalGet), a.stack)
	return append(out, opI64Const, 32, opI64Shl, opI64Or)
}

// begin begins the instructions of a body.
func (b *body) begin() {
	b.out, b.copied, b.gasLocal = b.out[:0], b.at, uint32(len(b.locals))
	b.alive, b.unpaid, b.mergePrice = true, 0, 0
	b.next(opBlock)
}

// next begins a metered block after the instruction opcode.
func (b *body) next(opcode byte) {
	b.run, b.from, b.looped, b.observed, b.cost = len(b.out), b.at, opcode == opLoop, false, b.mergePrice
	b.mergePrice, b.loop = 0, len(b.controls)-1
}

// decide determines whether the metered block checks the gas. Its price is known except for the merge of a loop.
func (r *rewriter) decide() {
	if r.checked = false; !r.alive {
		return
	}
	r.unpaid += r.cost
	if r.checked = r.looped || r.unpaid > mostUnpaid; r.checked {
		r.unpaid = 0
	}
}

// patched encodes a price in a fixed width of 4 bytes, which suffices since a body of 32 KiB costs less than 2²⁷.
func patched(price uint32) []byte {
	return []byte{byte(price) | 0x80, byte(price>>7) | 0x80, byte(price>>14) | 0x80, byte(price>>21) & 0x7F}
}

// patch writes the price of a loop's first metered block, which is known at the loop's end.
func (r *rewriter) patch(at int, price uint32) { copy(r.out[at:], patched(price)) }

// copyTo copies the code up to an offset.
func (b *body) copyTo(at int) {
	b.out = append(b.out, b.code[b.copied:at]...)
	b.copied = b.at
}

func (b *body) replaceReturn(from int) {
	b.copyTo(from)
	b.out = appendU32(append(b.out, opBr), uint32(len(b.controls)-1))
}

// replaceCall rewrites a call that was read, and reloads the gas after it, as the callee used some.
func (b *body) replaceCall(from int, index uint32) {
	if moved := b.moved(index); moved != index {
		b.copyTo(from)
		b.out = appendU32(append(b.out, opCall), moved)
	}
	b.called()
}

func (b *body) replaceGrow(from int) {
	b.copyTo(from)
	b.out = appendU32(append(b.out, opCall), b.growFunction)
	b.called()
}

// called reloads the gas after an instruction that ran other code.
func (b *body) called() {
	b.observed = true
	b.copyTo(b.at)
	b.out = appendU32(append(b.out, opGlobalGet), b.gas)
	b.out = appendU32(append(b.out, opLocalSet), b.gasLocal)
	if b.covered {
		b.out = b.appendPlace(b.out, b.at)
	}
}

// place writes a note of the function's place before an instruction that may be its last.
func (b *body) place(at int) {
	if !b.covered {
		return
	}
	b.out = append(b.out, b.code[b.copied:at]...)
	b.copied = at
	b.out = b.appendPlace(b.out, at)
}

// appendPlace writes instructions that note an offset of the code as the function's place, with a later time than all
// earlier notes.
func (b *body) appendPlace(out []byte, at int) []byte {
	clock := b.stack + 1
	out = appendU32(append(out, opGlobalGet), clock)
	out = appendS64(append(out, opI64Const), 1<<32)
	out = appendU32(append(out, opI64Add, opGlobalSet), clock)
	out = appendU32(append(out, opGlobalGet), clock)
	out = appendS64(append(out, opI64Const), int64(at))
	return appendU32(append(out, opI64Or, opGlobalSet), clock+1+uint32(b.bodyCount))
}

// settle ends a metered block with an instruction. The block's price is now known, and the charge is inserted before
// its instructions. Dead code is never entered and needs no charge. The first block of a loop checks the gas even if it
// costs nothing.
func (b *body) settle(opcode byte) {
	b.weight += uint64(b.cost)
	b.copyTo(b.at)
	b.charge = b.charge[:0]
	branched := b.looped && b.loop < len(b.controls) // the loop is open, so a branch back may follow
	if b.cost > 0 || branched {
		b.charge = b.appendCharge(b.charge, branched)
	}
	if branched {
		b.controls[b.loop].price, b.controls[b.loop].cost = b.run+b.priceAt, b.cost
	}
	if b.checked {
		b.looks++
		b.charge = b.appendSettleIfNegative(appendU32(append(b.charge, opLocalGet), b.gasLocal))
	}
	if b.covered && b.alive && b.cost > 0 {
		b.charge = b.appendCover(b.charge)
	}
	if b.alive {
		b.out = slices.Insert(b.out, b.run, b.charge...)
	}
	b.next(opcode)
	b.alive = len(b.controls) > 0 && !b.top().dead
}

// appendCover writes instructions that record that the metered block runs.
func (b *body) appendCover(out []byte) []byte {
	n := len(b.blocks)
	b.blocks = append(b.blocks, Block{b.bodyCount, b.from, b.at})
	out = b.appendPlace(out, b.from)
	word := b.stack + 1 + uint32(b.placeGlobals()+n/64)
	out = appendU32(append(out, opGlobalGet), word)
	out = appendS64(append(out, opI64Const), int64(uint64(1)<<(n%64)))
	return appendU32(append(out, opI64Or, opGlobalSet), word)
}

// noted returns the number of globals that record the function's run: the clock, its position, and the coverage words
// of its metered blocks. before is the number of blocks before the function's.
func (b *body) noted(before int) int { return 2 + coverWords(len(b.blocks)) - before/64 }

// finish assembles the code entry from the declarations of locals and the rewritten instructions. The entry takes the
// frame, checks it and the gas at once, runs the instructions in a block, gives the frame back, and checks the gas.
func (b *body) finish(groups int, locals []byte) {
	frame := int64(1<<32 | b.frame())
	e := append(appendU32(b.entry[:0], uint32(groups+1)), locals...)
	e = appendU32(append(e, 1, I64, opGlobalGet), b.stack)
	e = appendS64(append(e, opI64Const), frame)
	e = appendU32(append(e, opI64Sub, opGlobalSet), b.stack)
	e = appendU32(append(b.appendOverflow(e), opGlobalGet), b.gas)
	e = appendU32(append(e, opLocalTee), b.gasLocal)
	e = b.appendSettleIfNegative(append(e, opI64Or))
	e = append(e, opBlock, blockTypeOf(b.functionType.result))
	e = append(e, b.out...) // ends with the block's end
	if b.covered {          // the function is no longer active
		e = appendU32(append(e, opI64Const, 0, opGlobalSet), b.stack+2+uint32(b.bodyCount))
	}
	e = appendU32(append(e, opGlobalGet), b.stack)
	e = appendS64(append(e, opI64Const), frame)
	e = appendU32(append(e, opI64Add, opGlobalSet), b.stack)
	e = appendU32(append(e, opLocalGet), b.gasLocal)
	e = appendU32(append(e, opGlobalSet), b.gas)
	e = appendU32(append(e, opLocalGet), b.gasLocal)
	e = append(b.appendSettleIfNegative(e), opEnd)
	b.looks += 2
	b.bodies = append(appendU32(b.bodies, uint32(len(e))), e...)
	b.entry = e
}

func blockTypeOf(result ValueType) byte {
	if result == 0 {
		return emptyBlock
	}
	return result
}
