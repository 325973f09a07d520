package vm

import (
	"strconv"

	"github.com/cairn-chain/cairn/types"
)

// An Engine runs checked modules. Results, gas and exits are the same for every engine. It is safe for concurrent use.
type Engine interface {
	// Module gives the checked module with this code hash. It asks for the code only when it does not hold the module.
	// An error is code's, or a [*Refused].
	Module(hash types.CodeHash, code func() ([]byte, error)) (*Module, error)

	// Compile makes a module of this code hash ready to run. A deploy pays for it; so it is made then, and not by the
	// first call, which pays for loading. An error is a fault of the node.
	Compile(hash types.CodeHash, module *Module) error

	// Run calls a function of the module, `init` or one that is [Module.Callable], in an instance as it is after
	// instantiation. gas is what the call may use and, when Run returns, what it has left: nothing unless the exit is
	// Returned or Reverted. A host function may Run again while the outer call is active: that is another instance.
	// An error is a fault of the node and never becomes a receipt.
	Run(hash types.CodeHash, module *Module, function string, host Host, gas *Gas) (Exit, error)
}

// Exit is how a call ended.
type Exit uint8

// The exits. A host function that is done and lets the guest go on returns Returned.
const (
	Returned      Exit = iota // the function came to its end
	Reverted                  // host function revert
	Trapped                   // any trap: of the guest's code or of a host function; [Gas.Cause] says which
	OutOfGas                  // a metered block, memory.grow or a host function found less gas than its price
	StackOverflow             // more frames or slots than an instance may have
)

// A Host serves what a running instance asks of the chain. It is called by one instance at a time.
type Host interface {
	// Invoke runs a host function: its arguments are in stack, its result, if it has one, goes to stack[0]. An i32 is in
	// the low 32 bits, what is above them is not to be read and is written as 0. gas is exact and includes nothing of
	// what the function costs; the price of the call instruction is taken. Every exit but Returned ends the call. An
	// error is a fault of the node.
	Invoke(function Function, memory Memory, stack []uint64, gas *Gas) (Exit, error)

	// Grow reports whether the instances on the call stack may have so many more pages of memory together, and counts
	// them if so. pages is at least 1.
	Grow(memory Memory, pages uint32) bool

	// Continue is asked whether whoever waits for the call still does. It is asked whenever the call has used [MaxSlice]
	// of gas since it was asked last, at the next refill, growth or host function. An error ends it, as a fault.
	Continue() error
}

// Memory is the memory of a running instance.
type Memory interface {
	// Range gives n bytes from pointer on, false if one of them is outside. The slice is the guest's memory itself, and
	// is valid until the guest or a call made by it runs on.
	Range(pointer, n uint32) ([]byte, bool)
	// Pages is the present size in pages of 64 KiB.
	Pages() uint32
}

// What an engine finds in [Module.Instrumented] beside the guest's own code. Exports of the guest have names that begin
// with GuestPrefix, so that it cannot take one of the others; imports of the guest are all of module HostModule.
const (
	HostModule  = "cairn"        // host functions, under the names in [Functions]
	GuestPrefix = "guest."       // the guest's export x is GuestPrefix + x
	MemoryName  = "guest.memory" // the one memory

	// EngineModule is the module of the two functions that instrumented code imports from the engine.
	EngineModule = "engine"
	// RefillName is (i64) → i64: the guest gives its gas, below 0, and gets what it goes on with
	// ([Gas.Return], then [Gas.Lend]).
	RefillName = "refill"
	// GrowName is (i32) → i32: memory.grow of at least 1 page ([Module.Grow]). The engine returns the size before in
	// pages, or −1.
	GrowName = "grow"

	// GasName is an exported mutable i64 global: what is left of the gas lent to the guest. The engine sets it before a
	// call from [Gas.Lend] and gives it to [Gas.Return] after one. It does the same around each host function, where it
	// may be below 0 and the call out of gas. After a trap see [Gas.Trapped].
	GasName = "gas"
	// StackName is an exported mutable i64 global of the frames and slots that are left. ResetName sets it.
	StackName = "stack"
	// ResetName is a function () → () that sets every mutable global but the gas as it is after instantiation.
	ResetName = "reset"
)

// CoverName is an exported mutable i64 global of a module from [CheckCovered]: [Module.Blocks] says what its bits mean.
func CoverName(word int) string { return "cover." + strconv.Itoa(word) }

// PlaceName is an exported mutable i64 global of a module from [CheckCovered]: where a defined function stands, in the
// order of the code. It is 0 while no call of the function is active. Else the upper half is the time of the note, and
// the lower an offset in the code as submitted. [Module.Standing] reads them.
func PlaceName(function int) string { return "place." + strconv.Itoa(function) }

// MaxSlice is the most gas that a guest holds at a time: about a millisecond. When it is used up the guest asks for
// more, and the asking is where the Go runtime can stop the goroutine.
const MaxSlice = 1_000_000

// Gas is what a call has left, without what is lent to the guest.
type Gas struct {
	Left uint64
	// Grown and Forfeited are, of what is gone, the price of memory.grow and what bought nothing: it was left when the
	// call could not pay a price or trapped. Nothing depends on them but what traces say.
	Grown, Forfeited uint64
	// Cause is why the call trapped. Nothing depends on it but what errors and traces say.
	Cause Cause
}

// Cause is why a call trapped: what the code did, or the range or length that a host function refused.
type Cause struct {
	Name  string // in snake_case; empty where it did not trap, or for another reason
	Limit uint32 // of the length that was over it; 0 where it was no length
}

// The causes that are no lengths. Engines tell the first four.
var (
	Unreachable   = Cause{Name: "unreachable"}
	OutOfBounds   = Cause{Name: "memory"} // a range outside of the memory, also one given to a host function
	BadDivision   = Cause{Name: "division"}
	BadIndirect   = Cause{Name: "indirect_call"} // of no function, or of one of another type
	InvalidUTF8   = Cause{Name: "utf8"}
	TooManyTopics = Cause{Name: "topics"}
)

// Forfeit leaves nothing.
func (g *Gas) Forfeit() {
	g.Forfeited += g.Left
	g.Left = 0
}

// Take takes a price; if less is left it leaves nothing and reports false.
func (g *Gas) Take(price uint64) bool {
	if price > g.Left {
		g.Forfeit()
		return false
	}
	g.Left -= price
	return true
}

// Holds reports whether so much is left. If it is not, the call is out of gas, and nothing is left.
func (g *Gas) Holds(reserve uint64) bool {
	if g.Left < reserve {
		g.Forfeit()
		return false
	}
	return true
}

// Lend takes up to MaxSlice and returns it, as the new value of the guest's gas global.
func (g *Gas) Lend() uint64 {
	slice := min(g.Left, MaxSlice)
	g.Left -= slice
	return slice
}

// Return takes back what the guest's gas global holds: below 0 it is a debt. It reports false, and leaves nothing, if
// the debt is higher than what is left: the call is out of gas.
func (g *Gas) Return(global uint64) bool {
	if debt := -int64(global); debt > 0 {
		return g.Take(uint64(debt))
	}
	g.Left += global
	return true
}

// Grow answers memory.grow of an instance of m: it takes the price of the pages and asks the host. Exit is OutOfGas, or
// Returned with whether the engine must grow the memory; if it must and cannot, that is a fault of the node.
func (m *Module) Grow(memory Memory, pages uint32, host Host, gas *Gas) (grow bool, exit Exit) {
	price := uint64(pages) * uint64(schedule.MemoryGrowPage)
	if !gas.Take(price) {
		return false, OutOfGas
	}
	gas.Grown += price
	return uint64(memory.Pages())+uint64(pages) <= uint64(m.maxPages) && host.Grow(memory, pages), Returned
}

// Bounds of the frames that an instance has active at a time.
const (
	MaxFrames = 1_024
	MaxSlots  = 65_536
)

// The stack global holds the frames left in its upper 32 bits and the slots left in its lower, each as a signed number.
// A function's entry subtracts its frame from both at once and traps when either goes below 0.
const (
	fullStack           = MaxFrames<<32 | MaxSlots
	overflowMask uint64 = 1<<63 | 1<<31
)

// Trapped tells how a call ended whose guest's code trapped, by the values of its globals GasName and StackName, and
// leaves nothing. A guest that could not pay a block may have run on to the trap: it is out of gas.
func (g *Gas) Trapped(global, stack uint64) Exit {
	paid := g.Return(global)
	g.Forfeit()
	switch {
	case !paid:
		return OutOfGas
	case stack&overflowMask != 0:
		return StackOverflow
	}
	return Trapped
}
