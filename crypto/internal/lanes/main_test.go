//go:build amd64 && !purego

package lanes

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests if the processor has the instructions. Otherwise it only checks that nothing is decided, and
// nothing reported to hold.
func TestMain(m *testing.M) {
	if Available() {
		os.Exit(m.Run())
	}
	if v := Decide(new([Count]Equation)); v != (Verdict{Unsettled: 0xff}) || AllHold(nil, nil) {
		fmt.Println("FAIL: without the instructions something is decided:", v)
		os.Exit(1)
	}
	fmt.Println("the lanes are not tested further: this processor has no AVX-512 IFMA")
}
