package exec

import (
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

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
