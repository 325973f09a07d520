package exec

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Rehearsal executes transactions one after the other on a state, without signatures, nonces and fees, and can take
// them back. Nothing that it does becomes a block.
type Rehearsal struct{ derivation *Derivation }

// Rehearse begins a rehearsal in the block of a seed ([Seed]), on the state p are the parameters in.
func Rehearse(p types.Parameters, parent state.Reader, seed types.Header, machine Machine) *Rehearsal {
	r := &Rehearsal{Begin(p, parent, seed, machine)}
	r.derivation.env.BaseFee = 0
	return r
}

// Play executes a transaction after those that were played. Version, chain and sizes are checked as for inclusion;
// nonce, fees and the balance for gas are not asked, the gas costs nothing. In view context, what would change the
// state traps. A sender that cannot pay the value ends as [InsufficientBalance].
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
		// In a block the sender has an entry by now: its nonce was used.
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

// Trace has a tracer hear what is played from now on; nil for none.
func (r *Rehearsal) Trace(t Tracer) { r.derivation.tracer = t }

// Header is that of the block in which transactions are played, as far as contracts see it.
func (r *Rehearsal) Header() types.Header { return r.derivation.header }

// Move goes on in another block, of that height and time in Unix seconds.
func (r *Rehearsal) Move(height types.Height, time uint64) {
	r.derivation.header.Height, r.derivation.header.Timestamp = height, time
}

// State is the state after what was played. What is written to it is part of the rehearsal.
func (r *Rehearsal) State() *state.Overlay { return r.derivation.state }
