package exec

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Simulation is how [Call] executes a transaction.
type Simulation struct {
	Machine
	View   bool   // in view context: what would change the state traps
	Tracer Tracer // nil for none
	// Stop is asked while contracts run, at least once in vm.MaxSlice of gas and a host function; its error ends the
	// simulation. nil for none.
	Stop func() error
}

// Call executes a transaction on a state and drops what it wrote: for calls, views, estimates and traces. Version,
// chain and sizes are checked as for inclusion; nonce, fees and the balance for gas are not asked, the gas costs
// nothing. A sender that cannot pay the value ends as [InsufficientBalance].
func Call(
	p types.Parameters, parent state.Reader, seed types.Header, tx types.Transaction, s Simulation,
) (Outcome, error) {
	env := Env{ChainID: seed.ChainID, Parameters: p}
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 0, 0
	if err := CheckStatic(env, &types.SignedTransaction{Transaction: tx}); err != nil {
		return Outcome{}, err
	}
	run := Begin(p, parent, seed, s.Machine)
	run.view, run.tracer, run.stop = s.View, s.Tracer, s.Stop
	sender, err := peekSender(run.state, tx.Sender)
	if err != nil {
		return Outcome{}, err
	}
	if sender.IsContract && !s.View {
		return Outcome{}, ErrSenderIsContract
	}
	if sender.Balance < tx.Payload.Value() {
		intrinsic := fees.IntrinsicGas(tx.Payload)
		run.tell(Intrinsic, uint64(intrinsic))
		return Outcome{Reason: InsufficientBalance, GasUsed: intrinsic}, nil
	}
	if sender.Account == (state.Account{}) {
		// In a block the sender has an entry by now: its nonce was used.
		if err := run.state.SetAccount(tx.Sender, state.Account{Nonce: 1}); err != nil {
			return Outcome{}, err
		}
	}
	outcome, err := run.runPayload(&tx)
	if err != nil {
		return Outcome{}, fmt.Errorf("call: %w", err)
	}
	return outcome, nil
}
