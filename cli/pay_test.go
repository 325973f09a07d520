package cli

import (
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// TestPayReadsAllBeforeItPays: the whole file is checked before the first payment, and the error names the line.
func TestPayReadsAllBeforeItPays(t *testing.T) {
	n := startNode(t)
	d := newDesk(t, n)
	good := d.write(t, "good.csv", "\ufeff# May\nalice,1.5,\"rent, May\"\n dev1 , 7u\ndev2,1,0x"+strings.Repeat("0a", 32)+"\n")
	run := result[struct {
		Payments int
		Amount   api.Quantity
		Batches  []any
	}](t, d.run(t, "pay", good, "--from", "dev0", "--dry-run", "--json"))
	if run.Payments != 3 || run.Amount != 250_000_007 || len(run.Batches) != 0 {
		t.Errorf("got %+v, want Payments 3 and Amount 250,000,007 and 0 batches", run)
	}
	if o := d.run(t, "pay", good, "--from", "dev0"); o.exit != 2 || !strings.Contains(o.err, "--yes") {
		t.Errorf("without an answer: got %+v, want exit code 2 and %q", o, "--yes")
	}
	for text, says := range map[string]string{
		"alice,1\nnobody,1\n":                       "line 2",
		"alice,1\n\nalice,1x\n":                     "line 3",
		"alice\n":                                   "line 1: it has 1 fields",
		"alice,1,memo,more\n":                       "line 1: it has 4 fields",
		"alice,1," + strings.Repeat("m", 33) + "\n": "line 1: a memo",
		"tb1p" + strings.Repeat("q", 58) + ",1\n":   "line 1",
		"alice,184467440737\nalice,184467440737\n":  "line 2",
		"# nothing\n":                               "no payments",
		"alice,\"1\n":                               "parse error",
	} {
		path := d.write(t, "bad.csv", text)
		if o := d.run(t, "pay", path, "--from", "dev0", "--yes"); o.exit != 2 || !strings.Contains(o.err, says) {
			t.Errorf("%q: %+v, want %q", text, o, says)
		}
	}
	if len(n.sent) > 0 {
		t.Errorf("%d transactions were sent", len(n.sent))
	}
}

// TestP256Keys: a P-256 key is stored, exported and imported, and has an account of its own.
func TestP256Keys(t *testing.T) {
	d := newDesk(t, nil)
	d.env = append(d.env, "CAIRN_PASSWORD_FILE="+d.path("password.txt"))
	made := result[printedKey](t, d.run(t, "keys", "new", "machine", "--p256", "--json"))
	out := result[struct{ PrivateKey string }](t, d.run(t, "keys", "export", "machine", "--yes", "--json"))
	file := d.write(t, "machine.key", out.PrivateKey+"\n")
	again := result[printedKey](t, d.run(t, "keys", "import", "copy", "--p256", "--private-key-file", file, "--json"))
	if again.Account != made.Account || again.Kind != "p256" || again.Policy != made.Policy || len(out.PrivateKey) != 64 {
		t.Errorf("made %+v, imported %+v", made, again)
	}
	if shown := d.run(t, "keys", "show", "machine"); !strings.Contains(shown.out, "for Cairn only") {
		t.Errorf("got %+v, want %q", shown, "for Cairn only")
	}
	for _, words := range []string{
		"keys new x --p256 --words 24", "keys import x --p256 --mnemonic-file a", "keys import x --p256 --private-key-file " +
			d.path("password.txt"), "token check " + strings.Repeat("01", 32) + " --from machine",
	} {
		if o := d.run(t, strings.Fields(words)...); o.exit != 2 && o.exit != 3 {
			t.Errorf("%s: got %+v", words, o)
		}
	}
}
