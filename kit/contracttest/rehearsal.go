package contracttest

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Rehearsal runs calls on a chain's state without making blocks, and can undo them, for tests that try many calls.
// There are no signatures, nonces or fees; results and gas otherwise equal those in a block. The chain is unchanged,
// and must not be changed while a rehearsal is in use.
type Rehearsal struct {
	chain *Chain
	stage *exec.Rehearsal
	gas   types.Gas // gas limit of each call
}

// Mark is a point in a [Rehearsal] that can be restored.
type Mark struct {
	state int
	head  types.Header
}

// Rehearse begins a rehearsal in the next block.
func (c *Chain) Rehearse() *Rehearsal {
	c.t.Helper()
	template, p := c.seed()
	return &Rehearsal{c, exec.Rehearse(network, p, c.state, template, c.machine), p.GasLimit}
}

// Call calls a function with encoded arguments and coins of the caller.
func (r *Rehearsal) Call(
	from types.Account, contract types.ContractID, function string, args []byte, value types.Amount,
) Result {
	r.chain.t.Helper()
	return r.play(from, client.CallEncoded(contract, function, args, value), false)
}

// View calls a function in view context, as the zero account.
func (r *Rehearsal) View(contract types.ContractID, function string, args []byte) Result {
	r.chain.t.Helper()
	return r.play(types.Account{}, client.CallEncoded(contract, function, args, 0), true)
}

// AddCode registers code that belongs to no contract, for [Rehearsal.ViewWith].
func (c *Chain) AddCode(code []byte) types.CodeHash {
	hash := types.CodeHash(sha256.Sum256(code))
	c.codes[hash] = code
	return hash
}

// ViewWith is like [Rehearsal.View], but runs other code in place of the contract's, on the contract's storage: for
// example, another build of it with more functions.
func (r *Rehearsal) ViewWith(code types.CodeHash, contract types.ContractID, function string, args []byte) Result {
	r.chain.t.Helper()
	before, key := r.Mark(), state.ContractKey(contract)
	defer r.Undo(before)
	encoded, err := r.stage.State().Get(key)
	r.chain.must(err)
	record, err := state.DecodeContract(encoded)
	r.chain.must(err)
	record.CodeHash = code
	r.chain.must(r.stage.State().Set(key, record.Encode()))
	return r.View(contract, function, args)
}

func (r *Rehearsal) play(from types.Account, call client.Action, view bool) Result {
	r.chain.t.Helper()
	var outcome exec.Outcome
	var err error
	heard := &watcher{limit: r.gas}
	r.stage.Trace(heard)
	stops := r.chain.watched(func() {
		outcome, err = r.stage.Play(types.SignedTransaction{Transaction: types.Transaction{
			Sender:   from,
			Target:   call.Target,
			ChainID:  ChainID,
			GasLimit: r.gas,
			Value:    call.Value,
			Payload:  call.Payload,
		}}, view)
	})
	r.chain.must(err)
	return Result{
		OK:      outcome.Reason == exec.Success,
		Reason:  string(outcome.Reason),
		Output:  outcome.Output,
		Events:  outcome.Logs,
		GasUsed: outcome.GasUsed,
		Stops:   stops,
		Faults:  heard.faults,
		Inner:   heard.inner,
		Digests: heard.digests,
	}
}

// Pass moves to a later block, by a number of blocks, at least one, and of seconds.
func (r *Rehearsal) Pass(blocks, seconds uint64) {
	head := r.stage.Header()
	r.stage.Move(head.Height+types.Height(max(blocks, 1)), head.Timestamp+1_000*seconds)
}

// Height returns the height of the current block.
func (r *Rehearsal) Height() types.Height { return r.stage.Header().Height }

// Time returns the time of the current block in Unix seconds, as contracts see it.
func (r *Rehearsal) Time() uint64 { return r.stage.Header().Timestamp / 1_000 }

// Balance returns an account's coins, in smallest units.
func (r *Rehearsal) Balance(account types.Account) types.Amount {
	r.chain.t.Helper()
	record, err := r.stage.State().Account(account)
	r.chain.must(err)
	return record.Balance
}

// Storage returns the value of a key in a contract's storage, or nil.
func (r *Rehearsal) Storage(contract types.ContractID, key []byte) []byte {
	r.chain.t.Helper()
	value, err := r.stage.State().Get(state.StorageKey(contract, key))
	r.chain.must(err)
	return value
}

// SetStorage sets a value in a contract's storage, and retains the slice. It is for contracts that are part of a test.
func (r *Rehearsal) SetStorage(contract types.ContractID, key, value []byte) {
	r.chain.t.Helper()
	r.chain.must(r.stage.State().Set(state.StorageKey(contract, key), value))
}

// Mark returns the current point.
func (r *Rehearsal) Mark() Mark { return Mark{r.stage.State().Checkpoint(), r.stage.Header()} }

// Undo restores the state at a mark and invalidates later marks.
func (r *Rehearsal) Undo(m Mark) {
	r.stage.State().Rollback(m.state)
	r.stage.Move(m.head.Height, m.head.Timestamp)
}
