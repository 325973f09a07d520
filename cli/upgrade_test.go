package cli

import (
	"strings"
	"testing"
)

// TestUpgradeCheck: the command asks the nodes in its arguments, or without arguments the node of --rpc-url.
func TestUpgradeCheck(t *testing.T) {
	const nobody = "http://127.0.0.1:1" // no server listens there
	a, b := startNode(t), startNode(t)
	d := newDesk(t, &fakeNode{url: nobody})
	for _, test := range []struct {
		args  []string
		lines []string
		fails bool
	}{
		{[]string{a.url, b.url}, []string{a.url, b.url}, false},
		{[]string{"--rpc-url", a.url}, []string{a.url}, false},
		{[]string{"--version", "9", a.url}, []string{a.url, "NOT supported"}, true},
		{[]string{a.url, nobody}, []string{a.url, nobody}, true},
	} {
		got := d.run(t, append([]string{"upgrade", "check"}, test.args...)...)
		if (got.exit != 0) != test.fails {
			t.Errorf("%q: got exit code %d, want a failure: %t", test.args, got.exit, test.fails)
		}
		for _, line := range test.lines {
			if !strings.Contains(got.out, line) {
				t.Errorf("%q: got %q, want %q in it", test.args, got.out, line)
			}
		}
	}
}
