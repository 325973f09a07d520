package exec

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Rehearsal executes transactions one after the other on a state, without signatures, nonces and fees. Its writes can
// be rolled back, and never become a block.
type Rehearsal struct{ executor *BlockExecutor }

// Rehearse begins a rehearsal in the block of a template (see [HeaderTemplate]) on the state parent, which has the
// parameters p.
func Rehearse(
	network types.Network, p types.Parameters, parent state.Reader, template types.Header, machine Machine,
) *Rehearsal {
	r := &Rehearsal{Begin(network, p, parent, template, machine)}
	r.executor.env.BaseFee = 0
	return r
}

// Play executes a transaction after those already played. It checks all that inclusion checks and that needs no
// account, but not nonce, authorities, signatures, or the balance for gas: gas costs nothing. A witness that is nil is
// priced as [types.WitnessKey]. In view context, a write to the state traps, and a sender without an entry costs
// nothing. If the sender cannot pay the amount, the outcome is [InsufficientBalance].
func (r *Rehearsal) Play(tx types.SignedTransaction, view bool) (Outcome, error) {
	e := r.executor
	e.view = view
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 0, 0
	if tx.Payer != nil && tx.PayerWitness == nil {
		tx.PayerWitness = types.WitnessKey{}
	}
	if err := CheckStatic(e.env, &tx); err != nil {
		return Outcome{}, err
	}
	sender, err := peekAccount(e.state, tx.Sender)
	if err != nil {
		return Outcome{}, err
	}
	amount, err := tx.Amount()
	if err != nil {
		return Outcome{}, err
	}
	intrinsic := fees.IntrinsicGas(&tx)
	if !view {
		intrinsic = intrinsicGas(&tx, sender)
	}
	if tx.GasLimit < intrinsic {
		return Outcome{}, fmt.Errorf("%w: it is %d, but %d is needed", ErrIntrinsicGas, tx.GasLimit, intrinsic)
	}
	if sender.Balance < amount {
		e.reportGas(Intrinsic, uint64(intrinsic))
		return Outcome{Reason: InsufficientBalance, GasUsed: intrinsic}, nil
	}
	sender = sender.At(e.header.Timestamp)
	if sender.Nonce == 0 && !view { // a view does not create the entry
		// In a block the sender would have an entry by now, because its nonce was used.
		sender.Nonce = 1
		if err := e.state.SetAccount(tx.Sender, sender); err != nil {
			return Outcome{}, err
		}
	}
	outcome, err := e.runPayload(&tx, intrinsic)
	if err != nil {
		return Outcome{}, fmt.Errorf("call: %w", err)
	}
	return outcome, nil
}

// Trace sets the tracer of the transactions that are played from now on; nil disables tracing.
func (r *Rehearsal) Trace(t Tracer) { r.executor.tracer = t }

// Header returns the header of the block in which transactions are played, with the fields that contracts can read.
func (r *Rehearsal) Header() types.Header { return r.executor.header }

// Move continues in another block with the given height and timestamp, in milliseconds.
func (r *Rehearsal) Move(height types.Height, timestamp uint64) {
	r.executor.header.Height, r.executor.header.Timestamp = height, timestamp
	r.executor.env.Timestamp = timestamp
}

// State returns the state after the transactions played so far. Writes to it become part of the rehearsal.
func (r *Rehearsal) State() *state.Overlay { return r.executor.state }

// Simulation holds the options of [Call].
type Simulation struct {
	Machine
	Network types.Network
	View    bool   // view context: a write to the state traps
	Tracer  Tracer // may be nil
	// Stop is called while contracts run, at least once per vm.MaxSlice of gas and per host function. If it returns an
	// error, the simulation ends with that error. Stop may be nil.
	Stop func() error
}

// Call executes a transaction as [Rehearsal.Play] does and discards its writes. It serves calls, views, estimates and
// traces.
func Call(
	p types.Parameters, parent state.Reader, template types.Header, tx types.SignedTransaction, s Simulation,
) (Outcome, error) {
	r := Rehearse(s.Network, p, parent, template, s.Machine)
	r.Trace(s.Tracer)
	r.executor.stop = s.Stop
	return r.Play(tx, s.View)
}
