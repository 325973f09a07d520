package vm

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cairn-chain/cairn/types"
)

// An Engine runs checked modules. Results, gas and exits are the same for every engine. It is safe for concurrent use.
type Engine interface {
	// Module returns the checked module with this code hash. It calls code only if it does not hold the module. The
	// error is from code or is a [*Refused].
	Module(hash types.CodeHash, code func() ([]byte, error)) (*Module, error)

	// Compile prepares a module for running. It is called by a deploy, which pays for it, rather than by the first
	// call, which pays only for loading. An error is a fault of the node.
	Compile(hash types.CodeHash, module *Module) error

	// Run calls a function of the module, `init` or one that is [Module.Callable], in a fresh instance. gas is the
	// call's limit and, when Run returns, the remaining gas: nothing unless the exit is Returned or Reverted. A host
	// function may call Run again while the outer call is active; this uses another instance. An error is a fault of
	// the node and never becomes a receipt.
	Run(hash types.CodeHash, module *Module, function string, host Host, gas *Gas) (Exit, error)
}

// Exit is the way in which a call ended.
type Exit uint8

// Exits. A host function returns Returned to let the guest continue.
const (
	Returned      Exit = iota // the function returned
	Reverted                  // host function revert
	Trapped                   // a trap of the guest's code or of a host function; see [Gas.Cause]
	OutOfGas                  // a metered block, memory.grow or a host function found less gas than its price
	StackOverflow             // more frames or slots than an instance may have
)

// A Host serves the calls of a running instance to the chain. Only one instance calls it at a time.
type Host interface {
	// Invoke runs a host function. Its arguments are in stack; a result goes to stack[0]. An i32 is in the low 32 bits:
	// the high bits must not be read and must be written as 0. gas is exact: the price of the call instruction is
	// taken, but nothing of the price of the function. Every exit except Returned ends the call. An error is a fault of
	// the node.
	Invoke(function Function, memory Memory, stack []uint64, gas *Gas) (Exit, error)

	// Grow reports whether the instances on the call stack may grow by pages in total, and counts the pages if so.
	// pages is at least 1.
	Grow(memory Memory, pages uint32) bool

	// Continue returns an error if the call should stop because nobody waits for it any more. The error ends the call
	// as a fault. Continue is called whenever the call has used [MaxSlice] of gas since the last time, at the next
	// refill, growth or host function.
	Continue() error
}

// Memory is the memory of a running instance.
type Memory interface {
	// Range returns n bytes from pointer on, and false if any of them is outside the memory. The slice aliases the
	// guest's memory and is valid until the guest, or a call made by it, continues.
	Range(pointer, n uint32) ([]byte, bool)
	// Pages returns the current size in pages of 64 KiB.
	Pages() uint32
}

// Names in [Module.Instrumented] besides the guest's own. The guest's exports have the prefix GuestPrefix, so that they
// cannot clash with the others; all the guest's imports are from module HostModule.
const (
	HostModule  = "cairn"        // host functions, under the names in [Functions]
	GuestPrefix = "guest."       // the guest's export x is GuestPrefix + x
	MemoryName  = "guest.memory" // the only memory

	// EngineModule is the module of the two functions that instrumented code imports from the engine.
	EngineModule = "engine"
	// RefillName is (i64) → i64: the guest passes its gas, which is below 0, and receives a new slice ([Gas.Return],
	// then [Gas.Lend]).
	RefillName = "refill"
	// GrowName is (i32) → i32: memory.grow of at least 1 page ([Module.Grow]). The engine returns the previous size in
	// pages, or −1.
	GrowName = "grow"

	// GasName is an exported mutable i64 global: the remaining gas of the slice lent to the guest. The engine sets it
	// from [Gas.Lend] before a call and passes it to [Gas.Return] after the call. It does the same around each host
	// function; if the value is below 0 there, the call may be out of gas. After a trap see [Gas.Trapped].
	GasName = "gas"
	// StackName is an exported mutable i64 global: the remaining frames and slots. ResetName sets it.
	StackName = "stack"
	// ResetName is a function () → () that sets every mutable global except the gas to its initial value.
	ResetName = "reset"
)

// CoverName returns the name of an exported mutable i64 global of a module from [CheckCovered]. [Module.Blocks]
// explains its bits.
func CoverName(word int) string { return "cover." + strconv.Itoa(word) }

// PlaceName returns the name of an exported mutable i64 global of a module from [CheckCovered]: the place of a defined
// function, numbered in the order of the code. It is 0 while no call of the function is active. Otherwise the upper
// half is the time of the note, and the lower half an offset in the submitted code. [Module.Standing] reads these
// globals.
func PlaceName(function int) string { return "place." + strconv.Itoa(function) }

// MaxSlice is the maximum gas that a guest holds at a time, about a millisecond's worth. When it is used up, the guest
// calls the engine for more, which gives the Go runtime an opportunity to stop the goroutine.
const MaxSlice = 1_000_000

// Gas is the remaining gas of a call, without the slice lent to the guest.
type Gas struct {
	Left uint64
	// Grown and Forfeited are parts of the gas used: the price of memory.grow, and the gas that was lost when the call
	// could not pay a price or trapped. Only traces use them.
	Grown, Forfeited uint64
	// Cause is the cause of a trap. Only errors and traces use it.
	Cause Cause
}

// Cause is the cause of a trap: an action of the code, or a range or length that a host function refused.
type Cause struct {
	Name  string // in snake_case; empty if there was no trap, or for other causes
	Limit uint32 // the limit of a length that was exceeded; 0 for other causes
}

// Causes other than lengths. Engines report the first four.
var (
	Unreachable   = Cause{Name: "unreachable"}
	OutOfBounds   = Cause{Name: "memory"} // a range outside the memory, also one passed to a host function
	BadDivision   = Cause{Name: "division"}
	BadIndirect   = Cause{Name: "indirect_call"} // there is no function, or it has another type
	InvalidUTF8   = Cause{Name: "utf8"}
	TooManyTopics = Cause{Name: "topics"}
)

// Forfeit takes all remaining gas.
func (g *Gas) Forfeit() {
	g.Forfeited += g.Left
	g.Left = 0
}

// Take takes a price. If less is left, it forfeits the rest and reports false.
func (g *Gas) Take(price uint64) bool {
	if price > g.Left {
		g.Forfeit()
		return false
	}
	g.Left -= price
	return true
}

// Holds reports whether at least reserve is left. If not, the call is out of gas, and Holds forfeits the rest.
func (g *Gas) Holds(reserve uint64) bool {
	if g.Left < reserve {
		g.Forfeit()
		return false
	}
	return true
}

// Lend takes up to MaxSlice and returns it as the new value of the guest's gas global.
func (g *Gas) Lend() uint64 {
	slice := min(g.Left, MaxSlice)
	g.Left -= slice
	return slice
}

// Return takes back the value of the guest's gas global, which is a debt if it is below 0. If the debt exceeds the
// remaining gas, the call is out of gas: Return forfeits the rest and reports false.
func (g *Gas) Return(global uint64) bool {
	if debt := -int64(global); debt > 0 {
		return g.Take(uint64(debt))
	}
	g.Left += global
	return true
}

// Grow handles memory.grow of an instance of m: it takes the price of the pages and asks the host. The exit is OutOfGas
// or Returned; with Returned, grow says whether the engine must grow the memory. A failure to do so is a fault of the
// node.
func (m *Module) Grow(memory Memory, pages uint32, host Host, gas *Gas) (grow bool, exit Exit) {
	price := uint64(pages) * uint64(schedule.MemoryGrowPage)
	if !gas.Take(price) {
		return false, OutOfGas
	}
	gas.Grown += price
	return uint64(memory.Pages())+uint64(pages) <= uint64(m.maxPages) && host.Grow(memory, pages), Returned
}

// Bounds of the active frames of an instance.
const (
	MaxFrames = 1_024
	MaxSlots  = 65_536
)

// The stack global holds the remaining frames in its upper 32 bits and the remaining slots in its lower 32 bits, each
// as a signed number. A function's entry subtracts its frame from both at once and traps when either goes below 0.
const (
	fullStack           = MaxFrames<<32 | MaxSlots
	overflowMask uint64 = 1<<63 | 1<<31
)

// Trapped returns the exit of a call whose guest's code trapped, from the values of the globals GasName and StackName.
// It forfeits all gas. A guest that could not pay for a block may have run on to the trap; that call is out of gas.
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

// Fault is returned when an engine failed on a code. It is neither the code's own doing, which has an [Exit], nor an
// error of a callback. The effects of the call must be undone; another engine may run it correctly.
type Fault struct {
	Code     types.CodeHash
	Function string // empty if the code was being loaded or compiled
	Err      error
}

// Error implements error.
func (f *Fault) Error() string {
	return fmt.Sprintf("the engine failed on code %s, function %q: %v", f.Code, f.Function, f.Err)
}

// Unwrap returns the engine's error.
func (f *Fault) Unwrap() error { return f.Err }

// ErrClosed is returned by a closed engine. It is not a [Fault], as it says nothing about a code.
var ErrClosed = errors.New("the contract engine is closed")
