package exec

import (
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Part is what gas went to, beside host functions.
type Part uint8

// The parts. A transaction has Intrinsic, Code, CallPrice and Instance, which are paid before its call is entered. A
// call has Instructions, Memory and, for the instances of the calls that it makes, Instance.
const (
	Intrinsic    Part = iota // before a transaction is executed
	Code                     // of a deploy
	CallPrice                // of the transaction's call; a nested one is paid by the host function
	Instance                 // its memory and its items
	NewAccount               // that a value made
	Instructions             // with a block that it had too little for
	Memory                   // memory.grow
	Forfeited                // what was left when a price could not be paid or the code trapped: it bought nothing
	Parts                    // how many there are
)

var partNames = [Parts]string{
	Intrinsic:    "intrinsic",
	Code:         "code",
	CallPrice:    "call",
	Instance:     "instance",
	NewAccount:   "new_account",
	Instructions: "instructions",
	Memory:       "memory",
	Forfeited:    "forfeited",
}

// String is the part's name in snake_case.
func (p Part) String() string { return partNames[p] }

// tell tells the tracer of a part.
func (d *Derivation) tell(part Part, gas uint64) {
	if d.tracer != nil && gas > 0 {
		d.tracer.Charge(part, types.Gas(gas))
	}
}

// take takes a price and tells the tracer of it.
func (d *Derivation) take(gas *vm.Gas, part Part, price uint64) bool {
	ok := gas.Take(price)
	if ok {
		d.tell(part, price)
	}
	return ok
}
