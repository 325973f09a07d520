package vm

import "slices"

// What the rewritten module has beside the guest's own, behind it in each index space; only functions that the guest
// defines move up, because imports come first.
type added struct {
	gas, stack   uint32 // globals
	refill, grow uint32 // imported functions
	// Functions. settleFunction is the slow path of a check, growFunction stands for memory.grow.
	settleFunction, growFunction, resetFunction uint32
	// Types: () → (), (i64) → i64, (i32) → i32.
	emptyType, refillType, growType uint32
}

// addedImports is by how much the guest's own functions move up.
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

// moved gives the index that a function of the guest has in the rewritten module.
func (p *parsed) moved(function uint32) uint32 {
	if function < uint32(p.imported) {
		return function
	}
	return function + addedImports
}

// rewriter writes the body that is being read anew.
//
// Each metered block takes its price from the gas and goes on, below 0 too: a branch at each would make an engine
// compile for much longer. The code looks whether the gas is below 0 when a function is entered, before its first block
// is paid. It looks again at the function's end and in the first block of each loop. It also looks in a block that
// could otherwise run with more than mostUnpaid gas not looked at. The engine looks at host functions, growth of memory
// and traps. So what runs unpaid costs at most mostUnpaid. A branch back passes a loop's first block, and a call passes
// an entry. Of each other place the most is known that any way to it can have taken since the last look. It has no
// effect outside the instance, which is lost.
//
// A function keeps the gas in a local, which an engine has in a register: reading back a global that was just written
// takes longer than most blocks. The global holds the same wherever somebody else can see it. That is from the
// beginning of a metered block that may trap or that calls, at the function's end, and after a check that failed.
//
// The instructions of the guest go over as they are, except calls to functions that moved, memory.grow, which becomes a
// call, and return, which becomes a branch to the end. The function's instructions are in a block of its own, behind
// which the frame is given back.
type rewriter struct {
	added
	out      []byte // the instructions so far
	copied   int    // the code up to here is in out or replaced
	gasLocal uint32 // the local that holds the gas, behind the guest's own
	metered

	charge, entry []byte // kept for their memory
}

// metered is the metered block that is being rewritten.
type metered struct {
	run      int    // where in out it begins
	from     int    // where in the code
	looped   bool   // whether it is the first of a loop
	alive    bool   // whether it can be reached
	observed bool   // whether the global must hold the gas in it: it may trap, or it calls
	cost     uint32 // so far
	checked  bool   // whether it looks at the gas
	unpaid   uint32 // the most that was taken on a way to here since the gas was looked at
	// What the merge in front of the next one adds to its price.
	mergePrice uint32
	loop       int // which of the open blocks it is, of the first one of a loop
	priceAt    int // where in charge that one's price stands
}

// mostUnpaid is the most gas that may be taken before the gas is looked at.
const mostUnpaid = 1_000

func newRewriter(p *parsed) rewriter { return rewriter{added: newAdded(p)} }

// appendCharge writes what takes the price of the metered block: gas −= price, with room for another price if it is
// open.
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
// first: wazero keeps values in registers behind an if that were in registers at the end of the branch that it saw
// first.
func (r *rewriter) appendSettleIfNegative(out []byte) []byte {
	out = append(out, opI64Const, 0, opI64GeS, opIf, emptyBlock, opElse)
	out = appendU32(append(out, opLocalGet), r.gasLocal)
	out = appendU32(append(out, opCall), r.settleFunction)
	return append(appendU32(append(out, opLocalSet), r.gasLocal), opEnd)
}

// appendOverflow writes what gives an operand below 0 if the stack global is overflowed: both its halves' signs meet in
// the highest bit.
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

// next begins a metered block behind an instruction.
func (b *body) next(opcode byte) {
	b.run, b.from, b.looped, b.observed, b.cost = len(b.out), b.at, opcode == opLoop, false, b.mergePrice
	b.mergePrice, b.loop = 0, len(b.controls)-1
}

// decide says whether the metered block looks at the gas, when its price is known but for the merge of a loop.
func (r *rewriter) decide() {
	if r.checked = false; !r.alive {
		return
	}
	r.unpaid += r.cost
	if r.checked = r.looped || r.unpaid > mostUnpaid; r.checked {
		r.unpaid = 0
	}
}

// patched gives a price in as many bytes as any has: 4, since a body of 32 KiB costs less than 2²⁷.
func patched(price uint32) []byte {
	return []byte{byte(price) | 0x80, byte(price>>7) | 0x80, byte(price>>14) | 0x80, byte(price>>21) & 0x7F}
}

// patch writes the price of a loop's first metered block, which is known at the loop's end.
func (r *rewriter) patch(at int, price uint32) { copy(r.out[at:], patched(price)) }

// copyTo takes over the code up to an offset.
func (b *body) copyTo(at int) {
	b.out = append(b.out, b.code[b.copied:at]...)
	b.copied = b.at
}

func (b *body) replaceReturn(from int) {
	b.copyTo(from)
	b.out = appendU32(append(b.out, opBr), uint32(len(b.controls)-1))
}

// replaceCall writes a call that was read, and reads the gas again behind it: the callee used some.
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

// called reads the gas again behind an instruction that made others run.
func (b *body) called() {
	b.observed = true
	b.copyTo(b.at)
	b.out = appendU32(append(b.out, opGlobalGet), b.gas)
	b.out = appendU32(append(b.out, opLocalSet), b.gasLocal)
	if b.covered {
		b.out = b.appendPlace(b.out, b.at)
	}
}

// place notes where the function stands, in front of an instruction that may be its last.
func (b *body) place(at int) {
	if !b.covered {
		return
	}
	b.out = append(b.out, b.code[b.copied:at]...)
	b.copied = at
	b.out = b.appendPlace(b.out, at)
}

// appendPlace writes what notes that the function stands at an offset of the code, later than all that stood before.
func (b *body) appendPlace(out []byte, at int) []byte {
	clock := b.stack + 1
	out = appendU32(append(out, opGlobalGet), clock)
	out = appendS64(append(out, opI64Const), 1<<32)
	out = appendU32(append(out, opI64Add, opGlobalSet), clock)
	out = appendU32(append(out, opGlobalGet), clock)
	out = appendS64(append(out, opI64Const), int64(at))
	return appendU32(append(out, opI64Or, opGlobalSet), clock+1+uint32(b.bodyCount))
}

// settle ends a metered block with an instruction: its price is known, and what takes it goes before its instructions.
// Dead code is never entered and needs none. The first block of a loop looks at the gas even if it costs nothing.
func (b *body) settle(opcode byte) {
	b.weight += uint64(b.cost)
	b.copyTo(b.at)
	b.charge = b.charge[:0]
	branched := b.looped && b.loop < len(b.controls) // the loop is open, so a branch back may come
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

// appendCover writes what notes that the metered block runs.
func (b *body) appendCover(out []byte) []byte {
	n := len(b.blocks)
	b.blocks = append(b.blocks, Block{b.bodyCount, b.from, b.at})
	out = b.appendPlace(out, b.from)
	word := b.stack + 1 + uint32(b.placeGlobals()+n/64)
	out = appendU32(append(out, opGlobalGet), word)
	out = appendS64(append(out, opI64Const), int64(uint64(1)<<(n%64)))
	return appendU32(append(out, opI64Or, opGlobalSet), word)
}

// noted is how many globals the function notes things in, of whose metered blocks so many were there before: the clock,
// its place, and those of the blocks.
func (b *body) noted(before int) int { return 2 + coverWords(len(b.blocks)) - before/64 }

// finish puts the code entry together from the declarations of locals and the rewritten instructions. The entry takes
// the frame, checks it and the gas at once, runs the instructions in a block, gives the frame back, and checks the gas.
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
	if b.covered {          // it stands nowhere any more
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
