package cli

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/crypto/bip322"
	"github.com/cairn-chain/cairn/types"
)

// policyDesk is a desk with the policy treasury, 2 of alice, dev1 and a P-256 key, with dev4 as its recovery.
func policyDesk(t *testing.T, n *fakeNode) (*desk, printedPolicy) {
	t.Helper()
	d := newDesk(t, n)
	d.env = append(d.env, "CAIRN_PASSWORD_FILE="+d.path("password.txt"))
	if o := d.run(t, "keys", "new", "machine", "--p256"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	view := result[printedPolicy](t, d.run(t, "account", "policy", "new", "treasury", "--signer", "alice", "--signer", "dev1",
		"--signer", "machine", "--threshold", "2", "--recovery-signer", "dev4", "--delay", "1h", "--json"))
	if n != nil {
		n.account = func(a *api.Account) {
			if a.Account == view.Account {
				a.Policy = &view.Policy
			}
		}
	}
	return d, view
}

// TestPolicyNew: a policy is kept before its address is shown, and every signer is shown.
func TestPolicyNew(t *testing.T) {
	d, view := policyDesk(t, nil)
	entry, err := keystore.Open(d.path("keys")).Find("treasury")
	if err != nil || entry.Account != view.Account || entry.Kind != keystore.KindPolicy {
		t.Errorf("kept %+v, error %v, want Account %v and Kind %v", entry, err, view.Account, keystore.KindPolicy)
	}
	shown := d.run(t, "account", "policy", "show", "treasury")
	for _, says := range []string{view.Address, "2 of 3", "(alice)", "(dev1)", "(machine)", "(dev4)", "after 1h0m0s", "for Cairn only"} {
		if shown.exit != 0 || !strings.Contains(shown.out, says) {
			t.Errorf("%q is not in %+v", says, shown)
		}
	}
	other := newDesk(t, nil)
	got := result[printedPolicy](t, other.run(t, "account", "policy", "import", "vault", view.Encoded.String(), "--json"))
	if got.Account != view.Account {
		t.Errorf("imported %+v", got)
	}
	// A name that is taken: no address is shown.
	again := d.run(t, "account", "policy", "new", "treasury", "--signer", "dev2")
	if again.exit != 1 || again.out != "" {
		t.Errorf("a taken name: got %+v, want exit code 1 and out empty", again)
	}
	for _, words := range []string{
		"new x --signer dev1 --threshold 2", "new x --signer dev1 --signer dev1", "new x --signer nobody", "new x",
		"new x --signer passkey:00", "new x --signer treasury", "new Bad --signer dev1", "import x zz", "import x 0x00",
		"new x --signer dev1 --recovery-signer dev2 --delay 1us",
	} {
		if o := d.run(t, append([]string{"account", "policy"}, strings.Fields(words)...)...); o.exit != 2 || o.out != "" {
			t.Errorf("%s: got %+v, want exit code 2 and out empty", words, o)
		}
	}
}

// TestPolicySigns: the local keys sign by the policy in force, for a sender and for a payer.
func TestPolicySigns(t *testing.T) {
	n := startNode(t)
	d, view := policyDesk(t, n)
	if o := d.run(t, "send", "dev5", "1", "--from", "treasury", "--payer", "dev2", "--memo", "rent"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	tx := n.onlySent(t)
	witness, ok := tx.Witness.(types.WitnessPolicy)
	if !ok || len(witness.Proofs) != 2 || tx.Sender != view.Account || tx.Payer == nil ||
		*tx.Payer != developmentAccount(t, "dev2") || tx.ValidUntil == nil || *tx.ValidUntil != nodeTime+300_000 {
		t.Errorf("sent %+v", tx)
	}
	if transfer, ok := tx.Payload.(types.Transfer); !ok || transfer.Memo == nil || string(transfer.Memo[:4]) != "rent" {
		t.Errorf("sent %+v", tx.Payload)
	}
	for _, words := range []string{
		"send dev5 1 --from treasury --payer dev2 --valid-for 11m", "send dev5 1 --from dev0 --valid-for -1s",
		"send dev5 1 --from dev0 --memo 012345678901234567890123456789012", "send dev5 1 --from dev0 --payer nobody",
		"account policy set nobody --from alice", "account policy set dev1 --from alice --yes",
		"account policy set own --from treasury --yes --nonce x", "account policy recover treasury --from alice",
	} {
		if o := d.run(t, strings.Fields(words)...); o.exit != 2 {
			t.Errorf("%s: got %+v, want exit code 2", words, o)
		}
	}
}

// TestPolicyOfAKey: an account that has set a policy signs by it, and a change shows every signer before the
// confirmation.
func TestPolicyOfAKey(t *testing.T) {
	n := startNode(t)
	d, view := policyDesk(t, n)
	o := d.run(t, "account", "policy", "set", "treasury", "--from", "dev0")
	if o.exit != 2 || !strings.Contains(o.err, "(machine)") || len(n.sent) > 0 {
		t.Fatalf("without an answer: got %+v", o)
	}
	d.answers = []string{"dev0"}
	if o := d.run(t, "account", "policy", "set", "treasury", "--from", "dev0"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	set, ok := n.onlySent(t).Payload.(types.SetPolicy)
	if !ok || set.Recovery || set.Policy == nil || set.Policy.Hash() != view.Account {
		t.Errorf("sent %+v", set)
	}
	n.sent = nil
	n.account = func(a *api.Account) { a.Authority = view.Account }
	if o := d.run(t, "send", "dev5", "1", "--from", "dev0"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	if _, ok := n.onlySent(t).Witness.(types.WitnessPolicy); !ok {
		t.Errorf("signed by %T", n.onlySent(t).Witness)
	}
	n.account = func(a *api.Account) { a.Authority = types.Account{9} }
	if o := d.run(t, "send", "dev5", "1", "--from", "dev0"); o.exit != 1 || !strings.Contains(o.err, "policy import") {
		t.Errorf("a policy that nobody knows: got %+v, want exit code 1 and %q", o, "policy import")
	}
}

// TestRecovery: a recovery is signed by the recovery's key and paid for by another account, shown, and cancelled.
func TestRecovery(t *testing.T) {
	n := startNode(t)
	d, view := policyDesk(t, n)
	words := "account policy recover machine --from treasury --payer dev2 --yes"
	if o := d.run(t, strings.Fields(words)...); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	tx := n.onlySent(t)
	set, ok := tx.Payload.(types.SetPolicy)
	if !ok || !set.Recovery || len(tx.Witness.(types.WitnessPolicy).Proofs) != 1 {
		t.Errorf("sent %+v", tx)
	}
	if o := d.run(t, "account", "policy", "cancel", "--from", "treasury", "--yes"); o.exit != 1 {
		t.Errorf("nothing to cancel: got %+v, want exit code 1", o)
	}
	n.sent = nil
	n.account = func(a *api.Account) {
		a.Policy, a.Recovery = &view.Policy, &api.PendingRecovery{Authority: types.Account{9}, From: nodeTime}
	}
	if o := d.run(t, "account", "treasury"); !strings.Contains(o.out, "RECOVERY") || !strings.Contains(o.out, "policy cancel") {
		t.Errorf("got %+v, want %q and %q", o, "RECOVERY", "policy cancel")
	}
	if o := d.run(t, "account", "policy", "cancel", "--from", "treasury", "--yes"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	if set := n.onlySent(t).Payload.(types.SetPolicy); set.Recovery || set.Policy.Hash() != view.Account {
		t.Errorf("sent %+v", set)
	}
}

// TestDraftPasses: a transaction is passed from signer to signer as a file, and a Bitcoin wallet signs its text.
func TestDraftPasses(t *testing.T) {
	n := startNode(t)
	d, view := policyDesk(t, n)
	file := d.path("payment.json")
	written := result[printedDraft](t, d.run(t, "send", "dev5", "1", "--from", "treasury", "--draft", file, "--json"))
	if written.Complete || len(written.Missing) != 1 || written.Missing[0].Count != 2 || len(n.sent) > 0 {
		t.Fatalf("got %+v", written)
	}
	if o := d.run(t, "tx", "send", file); o.exit != 1 || len(n.sent) > 0 {
		t.Errorf("sent unsigned: got %+v", o)
	}
	if o := d.run(t, "send", "dev5", "1", "--from", "treasury", "--draft", file); o.exit != 2 {
		t.Errorf("written over a file: got %+v", o)
	}
	if o := d.run(t, "tx", "sign", file, "dev5", "--yes"); o.exit != 1 {
		t.Errorf("signed by a stranger: got %+v, want exit code 1", o)
	}
	if o := d.run(t, "tx", "sign", file, "machine"); o.exit != 2 || !strings.Contains(o.err, written.Text[0]) {
		t.Errorf("signed without an answer: got %+v", o)
	}
	if o := d.run(t, "tx", "sign", file, "machine", "--yes"); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	text := d.run(t, "tx", "text", file).out
	if text != strings.Join(written.Text, "\n") {
		t.Fatalf("the text is %q, want %q", text, written.Text)
	}
	alice, err := keystore.ParsePrivateKey(strings.Repeat("0", 63) + "3")
	if err != nil {
		t.Fatal(err)
	}
	message := bip322.Message(alice.PublicKey(), text, types.SighashDefault)
	signature, err := alice.Sign(message[:], [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	given := "smp" + base64.StdEncoding.EncodeToString(append([]byte{1, 64}, signature[:]...))
	if o := d.run(t, "tx", "attach", file, "dev1", given); o.exit != 1 {
		t.Errorf("as another's: got %+v, want exit code 1", o)
	}
	if o := d.run(t, "tx", "attach", file, "alice", given); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	if o := d.run(t, "tx", "send", file); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	if tx := n.onlySent(t); tx.ID() != written.Hash || tx.Sender != view.Account {
		t.Errorf("sent %+v, want %s", tx, written.Hash)
	}
	torn, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "torn.json", string(torn[:len(torn)/2]))
	for _, words := range []string{"tx sign $/torn.json --yes", "tx text $/torn.json", "tx send $/torn.json", "tx merge $/torn.json"} {
		if o := d.run(t, strings.Fields(strings.ReplaceAll(words, "$", d.home))...); o.exit != 1 {
			t.Errorf("%s: got %+v, want exit code 1", words, o)
		}
	}
}
