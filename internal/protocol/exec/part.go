package exec

import (
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Part is a category of gas use other than host functions.
type Part uint8

// Parts. A transaction has Intrinsic, Code, NewContract, CallPrice and Instance, which are charged before its call, or
// the call of a step, is entered. A call has Instructions, Memory and, for the instances of its nested calls, Instance.
const (
	Intrinsic    Part = iota // charged before execution
	Code                     // code of a deploy
	CallPrice                // a call by a transaction or a step; a nested one is charged to the host function
	Instance                 // an instance's memory and items
	NewAccount               // account created by a payment
	NewContract              // contract created by an instantiate; one that code creates is charged to the host function
	Instructions             // includes the metered block for which the gas did not suffice
	Memory                   // memory.grow
	Forfeited                // gas lost when a price could not be paid or the code trapped
	Parts                    // number of parts
)

var partNames = [Parts]string{
	Intrinsic:    "intrinsic",
	Code:         "code",
	CallPrice:    "call",
	Instance:     "instance",
	NewAccount:   "new_account",
	NewContract:  "new_contract",
	Instructions: "instructions",
	Memory:       "memory",
	Forfeited:    "forfeited",
}

// String returns the part's name in snake_case.
func (p Part) String() string { return partNames[p] }

// reportGas reports a charge to the tracer.
func (e *BlockExecutor) reportGas(part Part, gas uint64) {
	if e.tracer != nil && gas > 0 {
		e.tracer.Charge(part, types.Gas(gas))
	}
}

// take takes a price and reports it to the tracer.
func (e *BlockExecutor) take(gas *vm.Gas, part Part, price uint64) bool {
	ok := gas.Take(price)
	if ok {
		e.reportGas(part, price)
	}
	return ok
}
