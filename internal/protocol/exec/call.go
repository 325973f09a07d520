package exec

import (
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

// Call executes a transaction on a state and drops what it wrote, as [Rehearsal.Play]: for calls, views, estimates and
// traces.
func Call(
	p types.Parameters, parent state.Reader, seed types.Header, tx types.Transaction, s Simulation,
) (Outcome, error) {
	r := Rehearse(p, parent, seed, s.Machine)
	r.Trace(s.Tracer)
	r.derivation.stop = s.Stop
	return r.Play(tx, s.View)
}
