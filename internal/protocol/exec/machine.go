package exec

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Codes are the codes of the contracts in the parent's state, by hash. An error is a fault of the node.
type Codes interface {
	Code(types.CodeHash) ([]byte, error)
}

// Machine is what runs contracts: an engine and the codes that it has not loaded yet.
type Machine struct {
	Engine vm.Engine
	Codes  Codes
}

// Tracer is told what a simulated transaction does. It must not keep the slices that it is given.
type Tracer interface {
	// Enter begins a call; calls end in the reverse order.
	Enter(c CallInfo)
	// Exit ends the call that was entered last and has not ended. used is the gas of the call, calls below it included,
	// and cause says more about a trap.
	Exit(reason Reason, cause vm.Cause, output []byte, used types.Gas)
	// Charge tells where gas went: of the call that was entered last and has not ended, or of the transaction itself
	// where there is none. The parts of a call and what the calls below it used are what it used; those of the
	// transaction and what its call used are the receipt's gas.
	Charge(part Part, gas types.Gas)
	// Host is Charge for a host function, whether or not it had its effect, without what other parts and the call
	// below have of it.
	Host(function vm.Function, took types.Gas)
	// Storage is a write to the storage of the contract that runs; nothing is absence.
	Storage(key, old, new []byte)
	// Event is an event of the contract that runs.
	Event(log types.Log)
	// Debug is what a contract says with the host function debug.
	Debug(message []byte)
}

// CallInfo is a call of a contract.
type CallInfo struct {
	Contract types.ContractID
	Code     types.CodeHash
	Caller   types.Account
	Function string
	Args     []byte
	Value    types.Amount
	Gas      types.Gas // what the call may use
	View     bool
}

// contract is a contract as a call finds it.
type contract struct {
	id   types.ContractID
	hash types.CodeHash
}

// lookUp finds a contract and lists its record; ok is false where there is none.
func (d *Derivation) lookUp(id types.ContractID) (c contract, ok bool, err error) {
	record, err := d.state.Get(state.ContractKey(id))
	if err != nil || len(record) == 0 {
		return contract{}, false, err
	}
	decoded, err := state.DecodeContract(record)
	return contract{id: id, hash: decoded.CodeHash}, err == nil, err
}

// module loads a contract's code. The code was checked when it was deployed: a refusal is a fault.
func (d *Derivation) module(hash types.CodeHash) (*vm.Module, error) {
	return d.machine.Engine.Module(hash, func() ([]byte, error) {
		if code, ok := d.codes[hash]; ok {
			return code, nil
		}
		code, err := d.machine.Codes.Code(hash)
		if err == nil && types.CodeHash(sha256.Sum256(code)) != hash {
			err = fmt.Errorf("the code that is stored under hash %s has another", hash)
		}
		return code, err
	})
}

// newCodes are the codes that the block brought, of the contracts that it made, by hash.
func (d *Derivation) newCodes(accesses []types.Access) (map[types.CodeHash][]byte, error) {
	var codes map[types.CodeHash][]byte
	for _, a := range accesses {
		if state.Domain(a.Key[0]) != state.DomainContract || len(a.Old) > 0 || len(a.New) == 0 {
			continue
		}
		made, err := state.DecodeContract(a.New)
		if err != nil {
			return nil, err
		}
		code, brought := d.codes[made.CodeHash]
		if !brought { // a copy of a contract from before the block
			continue
		}
		if codes == nil {
			codes = make(map[types.CodeHash][]byte)
		}
		codes[made.CodeHash] = code
	}
	return codes, nil
}

// keepCode holds the code of a contract that the block deploys: it is visible to the rest of the block.
func (d *Derivation) keepCode(hash types.CodeHash, code []byte) {
	if d.codes == nil {
		d.codes = make(map[types.CodeHash][]byte)
	}
	d.codes[hash] = code
}

// errNoMachine is the fault of a derivation without a machine that meets a contract.
var errNoMachine = errors.New("a contract is deployed or called, and nothing is there to run it")
