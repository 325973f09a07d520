package api_test

import (
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

func TestFailureText(t *testing.T) {
	long := strings.Repeat("x", 256)
	for _, c := range []struct{ reason, data, want string }{
		{"out_of_gas", "", "out of gas"},
		{"reverted", "", "reverted"},
		{"reverted", "balance is too low", "reverted: balance is too low"},
		{"reverted", "zu wenig für Ä", "reverted: zu wenig für Ä"},
		{"trap", "balance is too low", "trap"},
		{"reverted", "two\nlines", "reverted"},
		{"reverted", "\x1b[31mred", "reverted"},
		{"reverted", "turned \u202eround", "reverted"},
		{"reverted", "\xff\xfe", "reverted"},
		{"reverted", long, "reverted: " + long},
		{"reverted", long + "x", "reverted"},
	} {
		if got := api.FailureText(c.reason, []byte(c.data)); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.reason, c.data, got, c.want)
		}
	}
}
