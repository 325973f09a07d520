// Package fuzz searches a contract for sequences of calls that break what its author says always holds:
//
//	fuzz.Run(t, fuzz.Config{}, func(w *fuzz.World) {
//		alice, bob := w.Actor("alice"), w.Actor("bob")
//		token := w.Deploy(alice, "token", code, map[string]any{"initialSupply": 1000})
//		w.Target(token)
//		w.Invariant("no token is made", func(v *fuzz.View) error {
//			if n := v.Uint(token, "totalSupply", nil); n > 1000 {
//				return fmt.Errorf("there are %d", n)
//			}
//			return nil
//		})
//	})
//
// Calls, their arguments and coins are generated from the contracts' ABIs, with what earlier calls took, returned and
// logged; time and blocks pass between them. Each sequence begins where the setup ended. The invariants are checked
// after the setup and after each call that succeeds. A sequence that breaks one is shrunk, kept in testdata/fuzz,
// played first in later runs, and printed as a Go test. The same seed always makes the same calls.
package fuzz
