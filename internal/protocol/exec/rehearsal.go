package exec

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Rehearsal executes transactions one after the other on a state, without signatures, nonces and fees. Its writes can
// be rolled back, and never become a block.
type Rehearsal struct{ derivation *Derivation }

// Rehearse begins a rehearsal in the block of seed (see [Seed]) on the state parent, which has the parameters p.
func Rehearse(p types.Parameters, parent state.Reader, seed types.Header, machine Machine) *Rehearsal {
	r := &Rehearsal{Begin(p, parent, seed, machine)}
	r.derivation.env.BaseFee = 0
	return r
}

// Play executes a transaction after those already played. It checks version, chain and sizes as for inclusion, but not
// nonce, fees or the balance for gas: gas costs nothing. In view context, a write to the state traps. If the sender
// cannot pay the value, the outcome is [InsufficientBalance].
func (r *Rehearsal) Play(tx types.Transaction, view bool) (Outcome, error) {
	d := r.derivation
	d.view = view
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 0, 0
	if err := CheckStatic(d.env, &types.SignedTransaction{Transaction: tx}); err != nil {
		return Outcome{}, err
	}
	sender, err := peekSender(d.state, tx.Sender)
	if err != nil {
		return Outcome{}, err
	}
	if sender.IsContract && !view {
		return Outcome{}, ErrSenderIsContract
	}
	if sender.Balance < tx.Payload.Value() {
		intrinsic := fees.IntrinsicGas(tx.Payload)
		d.tell(Intrinsic, uint64(intrinsic))
		return Outcome{Reason: InsufficientBalance, GasUsed: intrinsic}, nil
	}
	if sender.Account == (state.Account{}) {
		// In a block the sender would have an entry by now, because its nonce was used.
		if err := d.state.SetAccount(tx.Sender, state.Account{Nonce: 1}); err != nil {
			return Outcome{}, err
		}
	}
	outcome, err := d.runPayload(&tx)
	if err != nil {
		return Outcome{}, fmt.Errorf("call: %w", err)
	}
	return outcome, nil
}

// Trace sets the tracer of the transactions that are played from now on; nil disables tracing.
func (r *Rehearsal) Trace(t Tracer) { r.derivation.tracer = t }

// Header returns the header of the block in which transactions are played, with the fields that contracts can read.
func (r *Rehearsal) Header() types.Header { return r.derivation.header }

// Move continues in another block with the given height and time in Unix seconds.
func (r *Rehearsal) Move(height types.Height, time uint64) {
	r.derivation.header.Height, r.derivation.header.Timestamp = height, time
}

// State returns the state after the transactions played so far. Writes to it become part of the rehearsal.
func (r *Rehearsal) State() *state.Overlay { return r.derivation.state }
