package vm_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// Check never panics, gives the same result for the same code, keeps within the bound on its output, and writes modules
// that its own rules accept as valid WebAssembly.
func FuzzCheck(f *testing.F) {
	f.Add(contract().Encode())
	for _, rule := range rules {
		if code := rule.bad(); len(code) < 4096 {
			f.Add(code)
		}
		if rule.good != nil && len(rule.good()) < 4096 {
			f.Add(rule.good())
		}
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		before := bytes.Clone(code)
		m, err := vm.Check(code)
		again, errAgain := vm.Check(code)
		if !bytes.Equal(code, before) {
			t.Fatal("the code was changed")
		}
		if err != nil {
			if !errors.As(err, new(*vm.Refused)) || errAgain == nil || err.Error() != errAgain.Error() {
				t.Fatalf("got %v, then %v", err, errAgain)
			}
			return
		}
		if !bytes.Equal(m.Instrumented(), again.Instrumented()) || m.DeployGas() != again.DeployGas() {
			t.Fatal("the same code gives different modules")
		}
		if len(code) < 4096 { // the naive rule takes quadratic time
			requireRule(t, code, m)
		}
		if len(m.Instrumented()) > 10*len(code)+384<<10 {
			t.Fatalf("%d bytes become %d", len(code), len(m.Instrumented()))
		}
		if _, err := vm.RewriteCore(m.Instrumented()); err != nil {
			t.Fatalf("the rewritten module is not valid: %v", err)
		}
		if _, err := vm.RewriteCore(m.Skeleton().Module); err != nil {
			t.Fatalf("the skeleton is not valid: %v", err)
		}
		if decoded, err := vm.DecodeModule(m.Encode()); err != nil || !bytes.Equal(decoded.Encode(), m.Encode()) {
			t.Fatalf("the encoded module is not decoded: %v", err)
		}
	})
}
