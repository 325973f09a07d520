package contracttest_test

import (
	"os"
	"testing"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// TestTypedErrorsHaveTheirNames: a typed error is described by the ABI, in both forms.
func TestTypedErrorsHaveTheirNames(t *testing.T) {
	code, err := os.ReadFile("../../contracts/wasm/types.wasm")
	if err != nil {
		t.Fatal(err)
	}
	c := contracttest.New(t)
	alice := c.Account("alice")
	k := c.Deploy(alice, code, nil)
	args := map[string]any{"have": 7, "need": 10}
	const want = `the call failed: reverted: TooLow {"have":7,"need":10}`
	for form, r := range map[string]contracttest.Result{
		"JSON": k.Call(alice, "refuse", args), "binary": k.Call(alice, "refuse", k.Binary("refuse", args)),
		"a view": k.View("refuse", args),
	} {
		if err := r.Err(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", form, err, want)
		}
	}
}
