package vm

import "slices"

// What the rewritten module has beside the guest's own, behind it in each index space; only functions that the guest
// defines move up, because imports come first.
type added struct {
	gas, stack   uint32 // globals
	refill, grow uint32 // imported functions
	// Functions. settleFunction is the slow path of a metered block, growFunction stands for memory.grow.
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
		gas: globals, stack: globals + 1,
		refill: imported, grow: imported + 1,
		settleFunction: all + addedImports, growFunction: all + addedImports + 1, resetFunction: all + addedImports + 2,
		emptyType: types, refillType: types + 1, growType: types + 2,
	}
}

// moved gives the index that a function of the guest has in the rewritten module.
func (p *parsed) moved(function uint32) uint32 {
	if function < uint32(p.imported) {
		return function
	}
	return function + addedImports
}

// rewriter writes the body that is being read anew. The instructions of the guest go over as they are, but calls to
// functions that moved, memory.grow, which becomes a call, and return, which becomes a branch to the end: the function's
// instructions are in a block of its own, behind which the frame is given back.
type rewriter struct {
	added
	out    []byte // the instructions so far
	copied int    // the code up to here is in out or replaced
	run    int    // where in out the metered block begins
	alive  bool   // whether the metered block can be reached
	cost   uint32 // of the metered block so far

	// What takes the price of a metered block: gas −= price; if gas < 0, settleFunction.
	beforePrice, afterPrice []byte

	charge, entry []byte // kept for their memory
}

func newRewriter(p *parsed) rewriter {
	r := rewriter{added: newAdded(p)}
	r.beforePrice = append(appendU32([]byte{opGlobalGet}, r.gas), opI64Const)
	after := appendU32([]byte{opI64Sub, opGlobalSet}, r.gas)
	after = appendU32(append(after, opGlobalGet), r.gas)
	after = append(after, opI64Const, 0, opI64LtS, opIf, emptyBlock)
	r.afterPrice = append(appendU32(append(after, opCall), r.settleFunction), opEnd)
	return r
}

// begin begins the instructions of a body.
func (b *body) begin() {
	b.out, b.copied, b.run, b.alive, b.cost = b.out[:0], b.at, 0, true, 0
}

// copyTo takes over the code up to an offset.
func (b *body) copyTo(at int) {
	b.out = append(b.out, b.code[b.copied:at]...)
	b.copied = b.at
}

func (b *body) replaceReturn(from int) {
	b.copyTo(from)
	b.out = appendU32(append(b.out, opBr), uint32(len(b.controls)-1))
}

func (b *body) replaceCall(from int, index uint32) {
	if moved := b.moved(index); moved != index {
		b.copyTo(from)
		b.out = appendU32(append(b.out, opCall), moved)
	}
}

func (b *body) replaceGrow(from int) {
	b.copyTo(from)
	b.out = appendU32(append(b.out, opCall), b.growFunction)
}

// settle ends a metered block: its price is known, and what takes it goes before its instructions. Dead code is never
// entered and needs none.
func (b *body) settle() {
	b.copyTo(b.at)
	if b.cost > 0 && b.alive {
		b.charge = append(b.charge[:0], b.beforePrice...)
		b.charge = appendS64(b.charge, int64(b.cost))
		b.charge = append(b.charge, b.afterPrice...)
		b.out = slices.Insert(b.out, b.run, b.charge...)
	}
	b.run, b.cost = len(b.out), 0
	b.alive = len(b.controls) > 0 && !b.top().dead
}

// finish puts the code entry together from the declarations of locals and the rewritten instructions: take the frame,
// run the instructions in a block, give the frame back.
func (b *body) finish(locals []byte) {
	frame := int64(1<<32 | (len(b.locals) + b.highest + frameSlots))
	mask := overflowMask
	e := appendU32(append(append(b.entry[:0], locals...), opGlobalGet), b.stack)
	e = appendS64(append(e, opI64Const), frame)
	e = appendU32(append(e, opI64Sub, opGlobalSet), b.stack)
	e = appendU32(append(e, opGlobalGet), b.stack)
	e = appendS64(append(e, opI64Const), int64(mask))
	e = append(e, opI64And, opI64Const, 0, opI64Ne, opIf, emptyBlock, opUnreachable, opEnd)
	e = append(e, opBlock, blockTypeOf(b.functionType.result))
	e = append(e, b.out...) // ends with the block's end
	e = appendU32(append(e, opGlobalGet), b.stack)
	e = appendS64(append(e, opI64Const), frame)
	e = appendU32(append(e, opI64Add, opGlobalSet), b.stack)
	e = append(e, opEnd)
	b.bodies = append(appendU32(b.bodies, uint32(len(e))), e...)
	b.entry = e
}

func blockTypeOf(result ValueType) byte {
	if result == 0 {
		return emptyBlock
	}
	return result
}
