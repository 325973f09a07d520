package exec

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Codes provides the codes of the contracts in the parent's state, by hash. An error is a fault of the node.
type Codes interface {
	Code(types.CodeHash) ([]byte, error)
}

// Machine runs contracts: an engine, and the source of codes that the engine has not loaded yet.
type Machine struct {
	Engine vm.Engine
	Codes  Codes
}

// Tracer receives the events of a simulated transaction. It must not retain the slices passed to it.
type Tracer interface {
	// Enter begins a call; calls end in the reverse order.
	Enter(c CallInfo)
	// Exit ends the innermost open call. used is the call's gas, including nested calls; cause gives details of a trap.
	Exit(reason Reason, cause vm.Cause, output []byte, used types.Gas)
	// Charge attributes gas to a part of the innermost open call or, if no call is open, of the transaction. The gas of
	// a call is the sum of its parts, its host functions and its nested calls. The receipt's gas is the sum of the
	// transaction's parts and its call.
	Charge(part Part, gas types.Gas)
	// Host attributes gas to a host function, whether or not the function succeeded. took excludes gas that is
	// attributed to parts or to a nested call.
	Host(function vm.Function, took types.Gas)
	// Storage reports a write to the storage of the running contract. An empty old or new value means absence.
	Storage(key, old, new []byte)
	// Event reports an event of the running contract.
	Event(log types.Log)
	// Debug reports a message that a contract passed to host function debug.
	Debug(message []byte)
}

// A DigestTracer is a [Tracer] that also learns which digests running contracts compute with host functions.
type DigestTracer interface {
	Tracer
	Digest(digest [32]byte)
}

// A LookUpTracer is a [Tracer] that also learns how much gas the innermost open call had left at each look-up in
// storage. It needs [params.Schedule.StorageReserve] there.
type LookUpTracer interface {
	Tracer
	LookUp(left types.Gas)
}

// CallInfo describes a call of a contract.
type CallInfo struct {
	Contract types.ContractID
	Code     types.CodeHash
	Caller   types.Account
	Function string
	Args     []byte
	Value    types.Amount
	Gas      types.Gas // limit of the call
	View     bool
}

// contract identifies a contract and its code.
type contract struct {
	id   types.ContractID
	hash types.CodeHash
}

// lookUp finds a contract and records its key. ok is false if there is no such contract.
func (e *BlockExecutor) lookUp(id types.ContractID) (c contract, ok bool, err error) {
	record, err := e.state.Get(state.ContractKey(id))
	if err != nil || len(record) == 0 {
		return contract{}, false, err
	}
	decoded, err := state.DecodeContract(record)
	return contract{id: id, hash: decoded.CodeHash}, err == nil, err
}

// module loads a contract's code. The code was checked when it was deployed, so a refusal is a fault of the node.
func (e *BlockExecutor) module(hash types.CodeHash) (*vm.Module, error) {
	return e.machine.Engine.Module(hash, func() ([]byte, error) {
		if code, ok := e.codes[hash]; ok {
			return code, nil
		}
		code, err := e.machine.Codes.Code(hash)
		if err == nil && types.CodeHash(sha256.Sum256(code)) != hash {
			err = fmt.Errorf("the code stored under hash %s has a different hash", hash)
		}
		return code, err
	})
}

// newCodes returns the codes that the block's deploys brought and that a contract has after the block. That contract
// need not be the deployed one, which may have replaced its code after another contract took it.
func (e *BlockExecutor) newCodes(accesses []types.Access) (map[types.CodeHash][]byte, error) {
	if len(e.codes) == 0 {
		return nil, nil
	}
	var codes map[types.CodeHash][]byte
	for _, a := range accesses {
		if state.Domain(a.Key[0]) != state.DomainContract || len(a.New) == 0 {
			continue
		}
		made, err := state.DecodeContract(a.New)
		if err != nil {
			return nil, err
		}
		code, brought := e.codes[made.CodeHash]
		if !brought {
			continue
		}
		if codes == nil {
			codes = make(map[types.CodeHash][]byte)
		}
		codes[made.CodeHash] = code
	}
	return codes, nil
}

// keepCode keeps the code that a deploy brings, for the rest of the block.
func (e *BlockExecutor) keepCode(hash types.CodeHash, code []byte) {
	if e.codes == nil {
		e.codes = make(map[types.CodeHash][]byte)
	}
	e.codes[hash] = code
}

// errNoMachine is returned when a block executor without an engine meets a contract.
var errNoMachine = errors.New("a contract is deployed or called, but there is no engine to run it")
