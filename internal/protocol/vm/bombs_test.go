package vm_test

import (
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// Modules at the limits are accepted, and grow by no more than Check states.
func TestBombs(t *testing.T) {
	for _, bomb := range wasmgen.Bombs(32_768, 262_144) {
		m, err := vm.Check(bomb.Code)
		if err != nil {
			t.Errorf("%s: %v", bomb.Name, err)
			continue
		}
		if got := len(m.Instrumented()); got > 10*len(bomb.Code)+384<<10 {
			t.Errorf("%s: %d bytes become %d", bomb.Name, len(bomb.Code), got)
		}
	}
}
