package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

const publicMnemonic = "test test test test test test test test test test test junk"

func TestNewKey(t *testing.T) {
	for _, words := range []string{"12", "24"} {
		desk := newDesk(t, nil)
		desk.answers = []string{"secret", "secret"}
		o := desk.run(t, "keys", "new", "bob", "--words", words, "--network", "mainnet", "--json")
		made := result[struct {
			printedKey
			Mnemonic string
		}](t, o)
		if got := len(strings.Fields(made.Mnemonic)); o.exit != 0 || got != map[string]int{"12": 12, "24": 24}[words] ||
			o.err != "" {
			t.Errorf("%d words, standard error %q", got, o.err)
		}
		if made.Path != "m/86'/0'/0'/0/0" || !strings.HasPrefix(made.Address, "bc1p") {
			t.Errorf("made %+v", made.printedKey)
		}
		// The words restore the key.
		file := desk.write(t, "words.txt", made.Mnemonic+"\n")
		o = desk.run(t, "keys", "import", "again", "--mnemonic-file", file, "--network", "mainnet",
			"--password-file", desk.path("password.txt"), "--json")
		if again := result[printedKey](t, o); again.Account != made.Account {
			t.Errorf("%s from %s", again.Account, made.Account)
		}
	}
}

func TestNewKeyForPeople(t *testing.T) {
	desk := newDesk(t, nil)
	desk.answers = []string{"secret", "secret"}
	o := desk.run(t, "keys", "new", "bob")
	if o.exit != 0 || !strings.Contains(o.out, "bcrt1p") {
		t.Errorf("got %+v, want exit code 0 and %q", o, "bcrt1p")
	}
	// The mnemonic is on the standard error alone.
	i := slices.IndexFunc(strings.Split(o.err, "\n"), func(line string) bool { return len(strings.Fields(line)) == 12 })
	if i < 0 || len(strings.Fields(o.out)) > 20 {
		t.Errorf("standard error %q", o.err)
	}
	desk.answers = []string{"bob", "secret"}
	exported := desk.run(t, "keys", "export", "bob")
	if words := strings.TrimSpace(strings.Split(o.err, "\n")[i]); exported.exit != 0 ||
		!strings.Contains(exported.out, words) {
		t.Errorf("exported %+v, without %q", exported, words)
	}
}

func TestNewPasswordIsAskedTwice(t *testing.T) {
	desk := newDesk(t, nil)
	desk.answers = []string{"secret", "other"}
	if o := desk.run(t, "keys", "new", "bob"); o.exit != 1 || !strings.Contains(o.err, "differ") {
		t.Errorf("got %+v, want exit code 1 and %q", o, "differ")
	}
	desk.answers = []string{"", ""}
	if o := desk.run(t, "keys", "new", "bob"); o.exit != 1 || !strings.Contains(o.err, "empty") {
		t.Errorf("got %+v, want exit code 1 and %q", o, "empty")
	}
	if o := desk.run(t, "keys", "show", "bob"); o.exit != 2 {
		t.Errorf("the key was kept: got %+v, want exit code 2", o)
	}
}

func TestImport(t *testing.T) {
	const three = "0000000000000000000000000000000000000000000000000000000000000003"
	tests := []struct {
		name    string
		args    []string
		answers []string
		file    string
		want    string // the account
	}{
		{"mnemonic file", []string{"--mnemonic-file", "FILE"}, nil, publicMnemonic + "\r\n", "dev0"},
		{"another index", []string{"--mnemonic-file", "FILE", "--index", "3"}, nil, publicMnemonic, "dev3"},
		{
			"a word a line", []string{"--mnemonic-file", "FILE"}, nil, strings.ReplaceAll(publicMnemonic, " ", "\n") + "\n",
			"dev0",
		},
		{"capitals", []string{"--mnemonic-file", "FILE"}, nil, "\ufeff" + strings.ToUpper(publicMnemonic), "dev0"},
		{"private key file", []string{"--private-key-file", "FILE"}, nil, three + "\n", "alice"},
		{"mnemonic asked", nil, []string{publicMnemonic}, "", "dev0"},
		{"private key asked", nil, []string{"0x" + three}, "", "alice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			desk := newDesk(t, startNode(t))
			desk.answers = test.answers
			file := desk.write(t, "secret", test.file)
			args := []string{"keys", "import", "bob", "--password-file", desk.path("password.txt"), "--json"}
			for _, arg := range test.args {
				args = append(args, strings.ReplaceAll(arg, "FILE", file))
			}
			o := desk.run(t, args...)
			if o.exit != 0 || strings.Contains(o.out+o.err, three) || strings.Contains(o.out+o.err, "junk") {
				t.Fatalf("got %+v, want exit code 0 and no %q and no %q", o, three, "junk")
			}
			got := result[printedKey](t, o)
			want := result[printedKey](t, desk.run(t, "account", test.want, "--json"))
			if got.Account != want.Account || got.Network != types.Regtest {
				t.Errorf("got %+v, want %s", got, want.Account)
			}
		})
	}
}

func TestExportIsConfirmed(t *testing.T) {
	desk := newDesk(t, nil)
	for _, answers := range [][]string{{"no"}, {""}, {"alice", "wrong"}} {
		desk.answers = answers
		if o := desk.run(t, "keys", "export", "alice"); o.exit != 1 || o.out != "" {
			t.Errorf("answered %q: got %+v, want exit code 1 and out empty", answers, o)
		}
	}
	if o := desk.run(t, "keys", "alias", "shop", "dev0"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	if o := desk.run(t, "keys", "export", "shop", "--yes"); o.exit != 2 {
		t.Errorf("an alias was exported: got %+v, want exit code 2", o)
	}
}

func TestDelete(t *testing.T) {
	desk := newDesk(t, nil)
	desk.answers = []string{"no"}
	if o := desk.run(t, "keys", "delete", "alice"); o.exit != 1 {
		t.Errorf("not confirmed: got %+v, want exit code 1", o)
	}
	desk.answers = []string{"alice"}
	if o := desk.run(t, "keys", "delete", "alice"); o.exit != 0 {
		t.Errorf("confirmed: got %+v, want exit code 0", o)
	}
	if o := desk.run(t, "keys", "show", "alice"); o.exit != 2 {
		t.Errorf("still there: got %+v, want exit code 2", o)
	}
	desk.write(t, "keys/torn.json", "{")
	if o := desk.run(t, "keys", "list"); o.exit != 0 || !strings.Contains(o.err, "torn.json") {
		t.Errorf("got %+v, want exit code 0 and %q", o, "torn.json")
	}
	if o := desk.run(t, "keys", "delete", "torn", "--yes", "--json"); o.exit != 0 || !o.document(t).OK {
		t.Errorf("damaged: got %+v", o)
	}
}

func TestKeysListNeedsNoNode(t *testing.T) {
	desk := newDesk(t, nil)
	if o := desk.run(t, "keys", "list", "--rpc-url", "http://127.0.0.1:1"); o.exit != 2 ||
		!strings.Contains(o.err, "--rpc-url") {
		t.Errorf("a flag that does nothing there: got %+v", o)
	}
}

func TestAliasesAreAccounts(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	for _, args := range [][]string{
		{"keys", "alias", "friend", "dev5"},
		{"keys", "alias", "friend-again", "friend"},
		{"keys", "alias", "shop", strings.Repeat("01", 32), "--network", "regtest"},
	} {
		if o := desk.run(t, args...); o.exit != 0 {
			t.Fatalf("%q: got %+v, want exit code 0", args, o)
		}
	}
	if o := desk.run(t, "send", "friend-again", "1", "--from", "dev0"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	if to := node.onlySent(t).Target; to != developmentAccount(t, "dev5") {
		t.Errorf("sent to %s", to)
	}
	if o := desk.run(t, "send", "dev0", "1", "--from", "shop", "--json"); o.exit != 2 {
		t.Errorf("an alias sent: got %+v, want exit code 2", o)
	}
}

func TestNamesAreCompleted(t *testing.T) {
	desk := newDesk(t, nil)
	for _, args := range [][]string{
		{"__complete", "send", ""}, {"__complete", "keys", "show", ""}, {"__complete", "send", "--from", ""},
		{"__complete", "account", "show", ""},
		{"__complete", "deploy", "--from", ""}, {"__complete", "bench", "--from", ""},
		{"__complete", "events", "--contract", ""},
		{"__complete", "configure", "--fee-recipient", ""},
	} {
		if o := desk.run(t, args...); o.exit != 0 || !strings.HasPrefix(o.out, "alice\tbcrt1p") ||
			strings.Contains(o.out, "dev") {
			t.Errorf("%q: got %+v", args, o)
		}
	}
	for _, args := range [][]string{{"__complete", "send", "de"}, {"__complete", "deploy", "--from", "dev"}} {
		if o := desk.run(t, args...); o.exit != 0 || !strings.Contains(o.out, "\ndev0\n") ||
			!strings.Contains(o.out, "\ndev9\n") {
			t.Errorf("%q: got %+v", args, o)
		}
	}
}

func TestChoicesAreCompleted(t *testing.T) {
	desk := newDesk(t, nil)
	for want, args := range map[string][]string{
		"mainnet\ntestnet\nregtest\n":                           {"__complete", "keys", "new", "bob", "--network", ""},
		"rust\nassemblyscript\n":                                {"__complete", "contract", "new", "tally", "--lang", ""},
		"transfers\nreads\nmixed\nsubscribers\ntokens\nviews\n": {"__complete", "bench", "--load", ""},
	} {
		if o := desk.run(t, args...); o.exit != 0 || !strings.HasPrefix(o.out, want) {
			t.Errorf("%q: got %+v, want exit code 0 and %q at the beginning", args, o, want)
		}
	}
}

// TestAccountKey: the extended public key of a key's account gives its addresses, without a password and without a node.
func TestAccountKey(t *testing.T) {
	desk := newDesk(t, startNode(t))
	file := desk.write(t, "words", publicMnemonic)
	if o := desk.run(t, "keys", "import", "bob", "--mnemonic-file", file, "--password-file", desk.path("password.txt")); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	shown := desk.run(t, "keys", "account-key", "bob", "--password-file", desk.path("password.txt"))
	key := strings.TrimSpace(shown.out)
	if shown.exit != 0 || !strings.HasPrefix(key, "tpub") {
		t.Fatalf("got %+v, want tpub…", shown)
	}
	list := result[[]struct {
		Account types.Account
		Index   uint32
	}](t, desk.run(t, "keys", "addresses", key, "--from", "1", "--count", "3", "--json"))
	for i, one := range list {
		if want := developmentAccount(t, fmt.Sprintf("dev%d", i+1)); one.Account != want || one.Index != uint32(i+1) {
			t.Errorf("got %+v, want account %s", one, want)
		}
	}
	if o := desk.run(t, "keys", "addresses", key); len(list) != 3 || o.exit != 0 || strings.Count(o.out, "bcrt1p") != 10 {
		t.Errorf("got %d and %+v, want 3 and 10", len(list), o)
	}
	for _, args := range [][]string{
		{"keys", "addresses", key, "--network", "mainnet"}, {"keys", "addresses", key, "--count", "0"},
		{"keys", "addresses", publicMnemonic}, {"keys", "addresses", key, "--from", "2147483648"},
	} {
		if o := desk.run(t, args...); o.exit != 2 || strings.Contains(o.err, "junk") {
			t.Errorf("%v: got %+v, want wrong usage", args[3:], o)
		}
	}
}
