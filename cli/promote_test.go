package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// promotable returns a node that can be promoted, a desk with the admin's key, and the new producer's key.
func promotable(t *testing.T) (*fakeNode, *desk, types.PublicKey) {
	t.Helper()
	n := startNode(t)
	const secret = "0000000000000000000000000000000000000000000000000000000000000005"
	next := types.PublicKey(developmentAccount(t, "dev1"))
	n.producerKey = &next
	n.status = func(s *api.SyncStatus) {
		n.mu.Lock()
		defer n.mu.Unlock()
		s.BlocksBehind = new(uint64)
		if s.State = api.StateFollowing; len(n.sent) > 0 {
			s.State, s.LocalHeight = api.StateProducing, 19
		}
	}
	d := newDesk(t, n)
	d.write(t, "admin.key", secret+"\n")
	return n, d, next
}

func TestPromote(t *testing.T) {
	n, d, next := promotable(t)
	got := result[printedPromotion](t, d.run(t, "promote", "--admin-key", d.path("admin.key"), "--json"))
	sent := n.onlySent(t)
	configure, ok := sent.Payload.(types.Configure)
	if !ok || configure.Parameters.Producer != next || sent.Sender.String()[:10] != "0x2f8bde4d" ||
		configure.Parameters.GasLimit != 50_000_000 {
		t.Errorf("sent %+v", sent)
	}
	if got.Producer != next || got.Height != 18 || got.FirstBlock != 19 || got.TransactionHash != sent.ID() {
		t.Errorf("got %+v, want Producer %v and Height 18 and FirstBlock 19 and TransactionHash %v",
			got, next, sent.ID())
	}
}

// TestPromoteRefuses: nothing is sent to a node that could not produce blocks, and nothing is signed with another key.
func TestPromoteRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(n *fakeNode)
		args   []string
		exit   int
		says   string
	}{
		"no key of its own": {func(n *fakeNode) { n.producerKey = nil }, nil, 1, "--protocol-key FILE"},
		"the producer": {
			func(n *fakeNode) { n.producer = types.PublicKey(developmentAccount(t, "dev1")) }, nil, 1, "is already the producer",
		},
		"another's key": {func(n *fakeNode) { n.refuse = api.ErrNotAdmin }, nil, 1, "only the admin"},
		"far behind": {
			func(n *fakeNode) { n.status = func(s *api.SyncStatus) { s.BlocksBehind = new(uint64(3)) } }, nil, 1, "3 blocks behind",
		},
		"halted": {func(n *fakeNode) {
			n.status = func(s *api.SyncStatus) { s.State, s.Reason = api.StateHalted, nil }
		}, nil, 1, "has halted"},
		"no coins":   {func(n *fakeNode) { n.balance = 9 }, nil, 1, "may cost"},
		"no key":     {func(*fakeNode) {}, []string{}, 2, "--from"},
		"two ways":   {func(*fakeNode) {}, []string{"--admin-key", "x", "--override", "y"}, 2, "--override"},
		"no answer":  {func(*fakeNode) {}, []string{"--override", "y"}, 2, "--yes"},
		"a bad file": {func(*fakeNode) {}, []string{"--admin-key", "/none"}, 2, "/none"},
	} {
		t.Run(name, func(t *testing.T) {
			n, d, _ := promotable(t)
			c.change(n)
			if c.args == nil {
				c.args = []string{"--admin-key", d.path("admin.key")}
			}
			o := d.run(t, append([]string{"promote"}, c.args...)...)
			if o.exit != c.exit || !strings.Contains(o.err, c.says) || len(n.sent) > 0 {
				t.Errorf("exit code %d, %q, %d transactions", o.exit, o.err, len(n.sent))
			}
		})
	}
}

func TestPromoteByOverride(t *testing.T) {
	n, d, next := promotable(t)
	path := d.path("parameters.json")
	d.answers = []string{"17"} // the head, not the block after it
	if o := d.run(t, "promote", "--override", path); o.exit != 1 || !strings.Contains(o.err, "hard fork") {
		t.Errorf("with another answer: exit code %d, want 1, %q, and %q", o.exit, o.err, "hard fork")
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("with another answer a file was written: error %v", err)
	}
	d.answers = []string{"18"}
	got := result[printedPromotion](t, d.run(t, "promote", "--override", path, "--json"))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parameters, err := types.ParseParametersJSON(content, types.Regtest)
	if err != nil || parameters.Producer != next || parameters.GasLimit != 50_000_000 || parameters.MaxBaseFee != 1000 {
		t.Errorf("written %s: got %+v, error %v, want Producer %v and GasLimit 50,000,000 and MaxBaseFee 1000",
			content, parameters, err, next)
	}
	if got.Height != 18 || got.Setting != "--override-parameters 18:"+path || len(n.sent) > 0 {
		t.Errorf("got %+v, %d transactions", got, len(n.sent))
	}
	if o := d.run(t, "promote", "--override", path, "--yes"); o.exit != 1 {
		t.Errorf("over a file that is there: exit code %d, %q", o.exit, o.err)
	}
}
