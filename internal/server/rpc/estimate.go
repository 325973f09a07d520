package rpc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

const (
	// estimateReserve is the divisor of the reserve that an estimate adds for the gas that is used: 1/20 = 5 %.
	estimateReserve = 20
	// An estimate leaves room for a storage entry with a key and a value of these sizes.
	roomKeyBytes, roomValueBytes = 64, 256
	// returned is the number of 64ths of its gas that a caller can pass to a nested call.
	returned = 63
)

// entryRoom is the gas to read and write a storage entry more.
var entryRoom = func(s *params.Schedule) types.Gas {
	return s.StorageRead + s.StorageWrite + s.StorageNewKey +
		roomKeyBytes*(s.StorageReadKeyByte+s.StorageWriteKeyByte) + roomValueBytes*s.StorageWriteValueByte
}(&params.Prices)

// room returns the gas for work that a transaction may have in its block but not on the latest state, because earlier
// transactions of the block changed the state: to create an account that the latest state still has, if the transaction
// moves coins, and a storage entry, if it writes any.
func (e *effects) room() (gas types.Gas) {
	if e.pays {
		gas += params.Prices.NewAccount
	}
	if e.writes {
		gas += entryRoom
	}
	return atDepth(gas, e.deepest)
}

// withRecipient returns the gas of a transfer, or of a batch of transfers, if its recipients have no entry in the state
// by then. An account that has sent transactions keeps its entry; any other, such as a contract's, loses it with its last
// coin.
func (m *simulation) withRecipient(used types.Gas) (types.Gas, error) {
	least := intrinsicGas(&m.tx, m.exists)
	paid := []types.Step{{Target: m.tx.Target, Value: m.tx.Value, Action: m.tx.Payload}}
	if batch, ok := m.tx.Payload.(types.Batch); ok {
		paid = batch.Steps
	}
	made := map[types.Account]bool{}
	for _, step := range paid {
		if _, ok := step.Action.(types.Transfer); !ok || step.Value == 0 || made[step.Target] {
			continue
		}
		encoded, err := m.state.Get(state.AccountKey(step.Target))
		if err != nil {
			return used, err
		}
		recipient, err := state.DecodeAccount(step.Target, encoded)
		if err != nil {
			return used, err
		}
		if recipient.Nonce == 0 && step.Target != m.tx.Sender {
			made[step.Target] = true
			least += params.Prices.NewAccount
		}
	}
	return max(used, least), nil
}

// atDepth returns the gas that the outermost call needs for a call levels deep to have gas: each level keeps a 64th.
func atDepth(gas types.Gas, levels int) types.Gas {
	for range levels - 1 {
		gas += gas/returned + 1
	}
	return gas
}

// leastGas returns a gas limit from used to most with which the transaction has the same effects as with most: all its
// calls, down to the innermost, end as they did, with the same results, writes and events. It can exceed used, because
// a storage look-up requires gas to be left over, and so does each nested call, for 1/63 of its own gas.
func (m *simulation) leastGas(ctx context.Context, ample *effects, used, most types.Gas) (types.Gas, error) {
	var fault error
	run := func(gas types.Gas) (*effects, bool) {
		if fault != nil {
			return ample, true
		}
		did := newEffects(gas)
		var outcome exec.Outcome
		if outcome, fault = m.run(ctx, gas, did); fault != nil {
			return ample, true
		}
		return did, outcome.Reason == exec.Success
	}
	// A contract may return or store its remaining gas. Then results differ with every limit, and only the endings of
	// the calls are compared.
	half := func() (*effects, bool) { return run(used + (most-used)/2) }
	var varies, asked bool
	enough := func(gas types.Gas) bool {
		did, ok := run(gas)
		if !ok || !did.sameCalls(ample) {
			return false
		}
		if !varies && !asked && !did.sameDetails(ample) {
			other, ok := half()
			asked, varies = true, ok && other.sameCalls(ample) && !other.sameDetails(ample)
		}
		return varies || did.sameDetails(ample)
	}
	reserve := atDepth(params.Prices.StorageReserve, ample.deepest)
	first := min(max(used, ample.least)+slack, most)
	if first == most || enough(first) {
		return first, fault
	}
	tooLow, least := first, most
	for more := reserve; tooLow+more < most; more *= 2 {
		if enough(tooLow + more) {
			least = tooLow + more
			break
		}
		tooLow += more
	}
	for step := used/128 + 1; least-tooLow > step && fault == nil; {
		if middle := tooLow + (least-tooLow)/2; enough(middle) {
			least = middle
		} else {
			tooLow = middle
		}
	}
	return least, fault
}

// slack covers the rounding of [effects.need] in nested calls.
const slack types.Gas = 256

// effects holds two hashes of a transaction's effects: calls covers the calls and how each ended, details their
// arguments, results, writes and events.
type effects struct {
	calls, details hash.Hash
	deepest        int

	limit        types.Gas   // of the transaction
	open         []types.Gas // limits of the open calls
	least        types.Gas   // limit at which every look-up and nested call has enough gas
	pays, writes bool        // whether it moves coins and writes to storage
}

func newEffects(limit types.Gas) *effects {
	return &effects{calls: sha256.New(), details: sha256.New(), limit: limit}
}

// need raises least to the gas limit of the transaction at which the innermost open call gets gas in all. Each outer
// call needs the gas that it had spent before it made the next call, plus the need of that call and the 64th that a
// caller keeps back. If a contract passes on less gas than it may, least is only a guess, which [simulation.leastGas]
// tests.
func (e *effects) need(gas types.Gas) {
	around := append([]types.Gas{e.limit}, e.open...)
	for i := len(around) - 1; i > 0; i-- {
		had := around[i]
		if i > 1 { // the outermost call gets all that the transaction has left
			had, gas = atDepth(had, 2), atDepth(gas, 2)
		}
		gas += max(around[i-1], had) - had
	}
	e.least = max(e.least, gas)
}

func (e *effects) sameCalls(other *effects) bool {
	return bytes.Equal(e.calls.Sum(nil), other.calls.Sum(nil))
}

func (e *effects) sameDetails(other *effects) bool {
	return bytes.Equal(e.details.Sum(nil), other.details.Sum(nil))
}

// note adds parts to a hash, each preceded by its length.
func note(h hash.Hash, parts ...[]byte) {
	for _, part := range parts {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // never fails (hash.Hash)
		_, _ = h.Write(part)
	}
}

// Enter implements [exec.Tracer].
func (e *effects) Enter(c exec.CallInfo) {
	e.open = append(e.open, c.Gas)
	e.deepest = max(e.deepest, len(e.open))
	e.pays = e.pays || c.Value > 0
	note(e.calls, c.Contract[:], []byte(c.Function))
	note(e.details, c.Args, binary.BigEndian.AppendUint64(nil, uint64(c.Value)))
}

// Exit implements [exec.Tracer].
func (e *effects) Exit(reason exec.Reason, _ vm.Cause, output []byte, used types.Gas) {
	e.need(used)
	e.open = e.open[:len(e.open)-1]
	note(e.calls, nil, []byte(reason)) // an entry without a contract marks the end of a call
	note(e.details, output)
}

// LookUp implements [exec.LookUpTracer].
func (e *effects) LookUp(left types.Gas) {
	e.need(e.open[len(e.open)-1] - left + params.Prices.StorageReserve)
}

// Storage implements [exec.Tracer].
func (e *effects) Storage(key, _, new []byte) {
	e.writes = true
	note(e.details, key, new)
}

// Event implements [exec.Tracer].
func (e *effects) Event(log types.Log) {
	e.pays = e.pays || exec.IsPayment(&log)
	note(e.details, []byte(log.Name), log.Data)
	for _, topic := range log.Topics {
		note(e.details, topic[:])
	}
}

// Charge implements [exec.Tracer].
func (*effects) Charge(exec.Part, types.Gas) {}

// Host implements [exec.Tracer].
func (*effects) Host(vm.Function, types.Gas) {}

// Debug implements [exec.Tracer].
func (*effects) Debug([]byte) {}
