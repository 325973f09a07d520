package contracttest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/types"
)

// Contract is a contract on a [Chain].
type Contract struct {
	ID    types.ContractID
	Name  string
	ABI   abi.ABI // empty if the code has none
	chain *Chain
}

// Account returns the contract's account, which holds its coins.
func (k *Contract) Account() types.Account { return types.Account(k.ID) }

// Options holds optional fields of a transaction.
type Options struct {
	Name  string       // name of a deployed contract
	Value types.Amount // coins sent to the contract
	Gas   types.Gas    // gas limit; 0 means the block gas limit
	Payer Account      // pays the fee in place of the sender; the zero Account: nobody
}

// Result is the result of a transaction or a view call.
type Result struct {
	OK      bool
	Reason  string // reason of the failure in snake_case: "reverted", "trap", "out_of_gas", …
	Output  []byte // return value, or revert data
	Events  []types.Log
	GasUsed types.Gas
	Debug   []string // messages logged by the host function debug
	Detail  string   // details of a refused module or a trap
	// Trace lists every call and its gas, as a node's svc_traceTransaction does. Its parts add up to GasUsed.
	Trace *api.Trace
	// Stops lists the code positions of failed calls, in order of failure, including failures that the caller handled.
	// It is recorded only on a chain with coverage ([Chain.Cover]).
	Stops []Stop
	// Faults lists the calls that ended in a fault of the code, innermost first, including those that the caller
	// handled.
	Faults []Fault
	// Inner lists the first 64 calls made by contracts, in the order in which they ended.
	Inner []InnerCall
	// Digests lists the first 64 digests that contracts computed with the host functions sha256, keccak256 and blake3.
	Digests [][32]byte

	says string // typed revert error, decoded by the ABI of its contract; empty if there is none
}

// Err returns nil for a success, and otherwise an error that describes the failure.
func (r Result) Err() error {
	if r.OK {
		return nil
	}
	text := r.Reason
	switch {
	case r.says != "":
		text += ": " + r.says
	case len(r.Output) > 0:
		text += fmt.Sprintf(": %q", r.Output)
	}
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return fmt.Errorf("the call failed: %s", text)
}

// Must ends the test unless the call succeeded.
func (r Result) Must(t testing.TB) Result {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Reverts ends the test unless the call reverted with this reason; "" matches any reason.
func (r Result) Reverts(t testing.TB, reason string) {
	t.Helper()
	if r.OK || r.Reason != string(exec.Reverted) || reason != "" && string(r.Output) != reason {
		t.Fatalf("it was to revert with %q, and did not: %+v", reason, r)
	}
}

// Decode decodes the JSON output into a pointer, and ends the test on failure.
func (r Result) Decode(t testing.TB, into any) {
	t.Helper()
	r.Must(t)
	if err := json.Unmarshal(r.Output, into); err != nil {
		t.Fatalf("the result %q: %v", r.Output, err)
	}
}

// Deploy deploys code and runs its init function. args is passed to it encoded as JSON, or nothing if nil. It ends the
// test on failure.
func (c *Chain) Deploy(from Account, code []byte, args any, options ...Options) *Contract {
	c.t.Helper()
	k, result := c.TryDeploy(from, code, args, options...)
	result.Must(c.t)
	return k
}

// TryDeploy is like [Chain.Deploy], but returns failures in the Result, with a nil contract.
func (c *Chain) TryDeploy(from Account, code []byte, args any, options ...Options) (*Contract, Result) {
	c.t.Helper()
	o := only(options)
	action, err := client.Deploy(o.Name, code, args, o.Value)
	c.must(err)
	c.prepareCover(code)
	return c.made(from, action, code, "(deploy)", o)
}

// Instantiate makes a contract with the code of k, without compiling it again, and runs its init function. It ends the
// test on failure.
func (k *Contract) Instantiate(from Account, args any, options ...Options) *Contract {
	k.chain.t.Helper()
	made, result := k.TryInstantiate(from, args, options...)
	result.Must(k.chain.t)
	return made
}

// TryInstantiate is like [Contract.Instantiate], but returns failures in the Result, with a nil contract.
func (k *Contract) TryInstantiate(from Account, args any, options ...Options) (*Contract, Result) {
	k.chain.t.Helper()
	o := only(options)
	action, err := client.Instantiate(o.Name, k.ID, args, o.Value)
	k.chain.must(err)
	return k.chain.made(from, action, k.chain.codeOf(k.ID), "(instantiate)", o)
}

// made sends a transaction that makes a contract with the given code.
func (c *Chain) made(from Account, action client.Action, code []byte, function string, o Options) (*Contract, Result) {
	c.t.Helper()
	id, result := c.send(from, action, o)
	if a, err := abi.FromCode(code); err == nil {
		result.says = c.says(a, result)
	}
	label := o.Name
	if label == "" {
		label = "contract"
	}
	c.gas.add(label, function, result)
	if id == nil {
		return nil, result
	}
	k := c.Contract(*id)
	k.Name = label
	return k, result
}

// Contract returns the contract of an ID, such as one that a contract has created, with the ABI of its present code. It
// ends the test if there is none.
func (c *Chain) Contract(id types.ContractID) *Contract {
	c.t.Helper()
	encoded := c.state[string(state.ContractKey(id))]
	if encoded == nil {
		c.t.Fatalf("there is no contract %s", id)
	}
	record, err := state.DecodeContract(encoded)
	c.must(err)
	k := &Contract{ID: id, Name: record.Name, chain: c}
	if a, err := abi.FromCode(c.codes[record.CodeHash]); err == nil {
		k.ABI = a
	}
	return k
}

func only(options []Options) Options {
	if len(options) == 0 {
		return Options{}
	}
	return options[0]
}

// Call calls a function in a transaction. args is passed to it encoded as JSON, or nothing if nil; a json.RawMessage is
// passed unchanged.
func (k *Contract) Call(from Account, function string, args any, options ...Options) Result {
	k.chain.t.Helper()
	o := only(options)
	action, err := callOf(k.ID, function, args, o.Value)
	k.chain.must(err)
	_, result := k.chain.send(from, action, o)
	result.says = k.chain.says(k.ABI, result)
	k.chain.gas.add(k.Name, function, result)
	return result
}

// callOf returns a call. Raw arguments need not be valid JSON, so that tests can send invalid ones.
func callOf(contract types.ContractID, function string, args any, value types.Amount) (client.Action, error) {
	if raw, ok := args.(json.RawMessage); ok {
		return client.CallEncoded(contract, function, raw, value), nil
	}
	return client.Call(contract, function, args, value)
}

// Binary encodes a function's arguments in the binary form, for [Contract.Call] or [Contract.View]. It ends the test if
// they do not fit the ABI.
func (k *Contract) Binary(function string, args any) json.RawMessage {
	k.chain.t.Helper()
	f, ok := k.ABI.Function(function)
	if !ok || !k.ABI.TakesBinary {
		k.chain.t.Fatalf("%s has no %s, or takes no binary arguments", k.Name, function)
	}
	text, err := json.Marshal(args)
	k.chain.must(err)
	if args == nil {
		text = nil
	}
	object, err := k.ABI.EncodeJSON(f.Args, text, abi.Hex)
	k.chain.must(err)
	data, err := k.ABI.Binary(f.Args, object)
	k.chain.must(err)
	return data
}

// View calls a function in view context, after the latest block, as the zero account.
func (k *Contract) View(function string, args any) Result {
	k.chain.t.Helper()
	action, err := callOf(k.ID, function, args, 0)
	k.chain.must(err)
	result := k.chain.simulate(types.Transaction{Target: action.Target, Payload: action.Payload}, true)
	result.says = k.chain.says(k.ABI, result)
	return result
}

// codeOf returns a contract's code, or nil if there is no such contract.
func (c *Chain) codeOf(id types.ContractID) []byte {
	record, err := state.DecodeContract(c.state[string(state.ContractKey(id))])
	if err != nil {
		return nil
	}
	return c.codes[record.CodeHash]
}

// says formats a typed error with its name and fields: an error of the contract itself, or one that it passed on from
// another contract.
func (c *Chain) says(of abi.ABI, r Result) string {
	if r.Reason != string(exec.Reverted) {
		return ""
	}
	revert := of.Revert(r.Output)
	if by := revert.By; by != nil {
		other, err := abi.FromCode(c.codeOf(types.ContractID(*by)))
		if err != nil {
			return ""
		}
		revert = other.Revert(r.Output[1+len(by):])
		revert.By = by
	}
	if revert.Name == "" {
		return ""
	}
	return revert.String()
}

// Storage returns the value of a key in the contract's storage, or nil.
func (k *Contract) Storage(key []byte) []byte {
	return k.chain.state[string(state.StorageKey(k.ID, key))]
}

// send makes a block of one transaction.
func (c *Chain) send(from Account, action client.Action, o Options) (*types.ContractID, Result) {
	c.t.Helper()
	template, p := c.seed()
	gas := o.Gas
	if gas == 0 {
		gas = p.GasLimit
	}
	record, err := exec.ReadAccount(c.state, from.Account)
	c.must(err)
	tx := types.Transaction{
		Sender:       from.Account,
		Target:       action.Target,
		ChainID:      ChainID,
		Nonce:        record.Nonce,
		GasLimit:     gas,
		MaxFeePerGas: template.BaseFee,
		Value:        action.Value,
		Payload:      action.Payload,
	}
	if o.Payer.signer != nil {
		tx.Payer = &o.Payer.Account
	}
	verified := c.sign(tx, from, o.Payer)
	heard := listen(gas)
	var receipt types.Receipt
	var reason exec.Reason
	stops := c.watched(func() { receipt, reason = c.block(verified, heard) })
	result := Result{Output: receipt.Output, Events: receipt.Logs, Debug: heard.debug, Stops: stops, Faults: heard.faults, Inner: heard.inner,
		Digests: heard.digests}
	if reason == exec.ModuleRefused {
		result.Detail = c.simulate(tx, false).Detail // the chain does not store the reason
	}
	c.finish(&result, heard.Trace(receipt.GasUsed, reason))
	return receipt.Contract, result
}

// simulate runs a transaction on the current state and discards its writes.
func (c *Chain) simulate(tx types.Transaction, view bool) Result {
	c.t.Helper()
	template, p := c.seed()
	tx.ChainID = ChainID
	if tx.GasLimit == 0 {
		tx.GasLimit = p.GasLimit
	}
	heard := listen(tx.GasLimit)
	var outcome exec.Outcome
	var err error
	stops := c.watched(func() {
		signed := types.SignedTransaction{Transaction: tx}
		outcome, err = exec.Call(p, c.state, template, signed, exec.Simulation{
			Machine: c.machine, Network: network, View: view, Tracer: heard,
		})
	})
	c.must(err)
	result := Result{
		Output: outcome.Output, Events: outcome.Logs, Debug: heard.debug, Detail: outcome.Detail, Stops: stops,
		Faults: heard.faults, Inner: heard.inner, Digests: heard.digests,
	}
	c.finish(&result, heard.Trace(outcome.GasUsed, outcome.Reason))
	return result
}

// finish completes a result from its trace. A trace that does not account for all the gas ends the test.
func (c *Chain) finish(r *Result, t *api.Trace) {
	c.t.Helper()
	r.OK, r.GasUsed, r.Trace = t.Error == nil, types.Gas(t.GasUsed), t
	if !r.OK {
		r.Reason = *t.Error
	}
	calls := callsOf(t)
	if last := len(calls) - 1; r.Reason == string(exec.Trap) && calls[last].Cause != nil {
		r.Detail = api.CauseText(calls[last].Cause)
	}
	_, err := partsOf(t)
	c.must(err)
}

// listener is a tracer that also collects the debug messages of contracts, in order.
type listener struct {
	*trace.Tracer
	watcher
	debug []string
}

func listen(gas types.Gas) *listener {
	return &listener{Tracer: trace.New(), watcher: watcher{limit: gas}}
}

// Enter implements [exec.Tracer].
func (l *listener) Enter(c exec.CallInfo) {
	l.watcher.Enter(c)
	l.Tracer.Enter(c)
}

// Exit implements [exec.Tracer].
func (l *listener) Exit(reason exec.Reason, cause vm.Cause, output []byte, used types.Gas) {
	l.watcher.Exit(reason, cause, output, used)
	l.Tracer.Exit(reason, cause, output, used)
}

// Charge implements [exec.Tracer].
func (l *listener) Charge(part exec.Part, gas types.Gas) { l.Tracer.Charge(part, gas) }

// Host implements [exec.Tracer].
func (l *listener) Host(function vm.Function, took types.Gas) { l.Tracer.Host(function, took) }

// Storage implements [exec.Tracer].
func (l *listener) Storage(key, old, new []byte) { l.Tracer.Storage(key, old, new) }

// Event implements [exec.Tracer].
func (l *listener) Event(log types.Log) { l.Tracer.Event(log) }

// Debug implements [exec.Tracer].
func (l *listener) Debug(message []byte) {
	l.debug = append(l.debug, string(message))
	l.Tracer.Debug(message)
}
