package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// shownAccount is the part about signers in the output of `cairn account show --json`.
type shownAccount struct {
	Account, Authority types.Account
	Policy             *types.Policy
	Recovery           *api.PendingRecovery
}

// TestAccountsByCommands uses only commands. Several keys sign for an account, the account is recovered, a recovery is
// stopped, and another account pays the fees.
func TestAccountsByCommands(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	u := newUser(t).of(node)
	show := func() (a shownAccount) {
		t.Helper()
		u.succeeds(&a, "account", "show", "treasury")
		return a
	}
	var treasury, rescued struct{ Account types.Account }
	u.succeeds(&treasury, words("account policy new treasury --signer dev1 --signer dev2 --signer dev3 --threshold 2 "+
		"--recovery-signer dev4 --delay 24h")...)
	u.succeeds(&rescued, words("account policy new rescued --signer dev6")...)

	var first receipt // on an account without coins
	u.succeeds(&first, words("send dev5 0 --from treasury --payer dev0")...)
	payer := types.Regtest.Address(devAccount(t, node, 0))
	for want, command := range map[string]string{
		"Fee paid by": "tx " + first.TransactionHash.String(), ", paid by ": "send dev5 0 --from treasury --payer dev0",
		"Fee paid by  ": "send dev5 0 --from treasury --payer dev0 --dry-run",
	} {
		if r := u.run(words(command)...); !strings.Contains(r.stdout, want) || !strings.Contains(r.stdout, payer) {
			t.Errorf("%s: got %s, want the payer %s", command, r, payer)
		}
	}
	u.succeeds(nil, words("send treasury 10 --from dev0")...)

	file := filepath.Join(t.TempDir(), "payment.json")
	u.succeeds(nil, words("send dev5 1 --from treasury --draft "+file)...)
	if r := u.fails(exitFailed, "tx", "send", file); !strings.Contains(r.Message, "must sign") {
		t.Errorf("sent without signatures: %q", r.Message)
	}
	for _, name := range []string{"dev3", "dev1"} { // each on a machine of its own, without a node
		newUser(t).succeeds(nil, "tx", "sign", file, name, "--yes")
	}
	u.succeeds(nil, "tx", "send", file)

	recover := words("account policy recover rescued --from treasury --payer dev0 --yes")
	u.succeeds(nil, recover...)
	heard := u.run(words("watch events --event RecoveryStarted --from 0 --count 1")...)
	if heard.code != exitDone || !strings.Contains(heard.stdout, "RecoveryStarted") {
		t.Errorf("heard %s", heard)
	}
	heard = u.run(words("watch events --account treasury --from 0 --count 1")...)
	if heard.code != exitDone || !strings.Contains(heard.stdout, "RecoveryStarted") {
		t.Errorf("heard of the account: got %s, want code %v and %q", heard, exitDone, "RecoveryStarted")
	}
	if a := show(); a.Recovery == nil || a.Recovery.Authority != rescued.Account || a.Authority != treasury.Account {
		t.Errorf("a recovery that is under way: got %+v", a)
	}
	u.succeeds(nil, words("account policy cancel --from treasury --yes")...)
	if a := show(); a.Recovery != nil || a.Authority != treasury.Account {
		t.Errorf("a recovery that was cancelled: got %+v, want Recovery nil and Authority %v", a, treasury.Account)
	}
	u.succeeds(nil, recover...)
	u.succeeds(nil, words("rpc dev_increaseTime 86400")...)
	u.succeeds(nil, words("rpc dev_mine 1")...)
	if a := show(); a.Recovery != nil && a.Authority != rescued.Account {
		t.Errorf("a recovery that is over: got %+v", a)
	}
	u.succeeds(nil, words("send dev5 1 --from treasury")...) // dev6 signs

	// The account's first policy signs again, and the output of the change states it.
	back := u.run(words("account policy set own --from treasury --yes")...)
	if back.code != exitDone || !strings.Contains(back.stderr, "the policy with this hash signs again: 2 of these") {
		t.Errorf("set own: got %s, want code %v and %q",
			back, exitDone, "the policy with this hash signs again: 2 of these")
	}
	if a := show(); a.Authority != treasury.Account {
		t.Errorf("after set own: got %+v, want Authority %v", a, treasury.Account)
	}
	people := u.run("account", "show", "treasury")
	if !strings.Contains(people.stdout, "for Cairn only") || strings.Contains(people.stdout, "unless you know") {
		t.Errorf("shown: got %s, want %q and no %q", people, "for Cairn only", "unless you know")
	}
	u.succeeds(nil, words("send dev5 1 --from treasury")...)
}

// TestDevelopmentAdmin changes the parameters of a development chain with the name of its admin.
func TestDevelopmentAdmin(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	u := newUser(t).of(node)
	u.succeeds(nil, words("configure --target-bps 4000 --from devadmin")...)
	at := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	u.succeeds(nil, words("upgrade announce --version 3 --from devadmin --at "+at)...)
	c := connect(t, node)
	info, err := c.NodeInfo(t.Context())
	if err != nil || info.Upgrade == nil || info.Upgrade.Version != 3 {
		t.Errorf("announced: got %+v, %v, want version 3", info.Upgrade, err)
	}
	u.succeeds(nil, words("upgrade cancel --from devadmin")...)
	if info, err = c.NodeInfo(t.Context()); err != nil || info.Upgrade != nil {
		t.Errorf("cancelled: got %+v, %v, want none", info.Upgrade, err)
	}
	u.fails(exitFailed, words("configure --target-bps 4500 --from dev0")...)
}

func words(text string) []string { return strings.Fields(text) }

// owners are the signers of an account in a Go program.
type owners struct {
	t       *testing.T
	c       *client.Client
	sponsor client.Signer
	policy  types.Policy // the policy of which the account is the hash
}

func devKey(t *testing.T, node *process, index int) crypto.PrivateKey {
	t.Helper()
	secret, err := hex.DecodeString(node.Accounts[index].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := crypto.NewPrivateKey([32]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (o *owners) signer(policy types.Policy, keys ...client.Cosigner) client.Signer {
	o.t.Helper()
	s, err := client.NewPolicySigner(types.Regtest, client.PolicyAccount{ID: o.policy.Hash(), Policy: policy}, keys...)
	if err != nil {
		o.t.Fatal(err)
	}
	return s
}

// send signs an action and waits for its block. payer may be nil.
func (o *owners) send(from client.Signer, action client.Action, payer client.Signer) (api.Receipt, error) {
	o.t.Helper()
	fields := client.TxFields{}
	if payer != nil {
		fields.Payer = payer
	}
	tx, err := o.c.Build(o.t.Context(), from, action, fields)
	if err != nil {
		return api.Receipt{}, err
	}
	signed, err := client.Sign(o.t.Context(), from, tx)
	if err == nil && payer != nil {
		signed, err = client.Sponsor(o.t.Context(), payer, signed, time.Now())
	}
	if err != nil {
		return api.Receipt{}, err
	}
	receipt, err := o.c.SendAndWait(o.t.Context(), signed)
	if err == nil {
		err = client.Failure(receipt)
	}
	return receipt, err
}

func (o *owners) must(from client.Signer, action client.Action, payer client.Signer) {
	o.t.Helper()
	if _, err := o.send(from, action, payer); err != nil {
		o.t.Fatal(err)
	}
}

// TestAccountsByTheSDK does with the Go SDK the same as TestAccountsByCommands, and is notified of recoveries as a
// subscriber.
func TestAccountsByTheSDK(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	o := &owners{t: t, c: connect(t, node), sponsor: client.NewSigner(devKey(t, node, 0))}
	machineKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := client.NewP256Signer(machineKey)
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := client.NewSigner(devKey(t, node, 1)), client.NewSigner(devKey(t, node, 2))
	rescuer := client.NewSigner(devKey(t, node, 4))
	o.policy.Owner, err = client.NewRule(2, machine.Signer(), alice.Signer(), bob.Signer())
	if err != nil {
		t.Fatal(err)
	}
	rule, err := client.NewRule(1, rescuer.Signer())
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	o.policy.Recovery = &types.Recovery{Rule: rule, Delay: uint64(day.Milliseconds())}
	next := client.SinglePolicy(machine.Signer())
	account, to := o.policy.Hash(), rescuer.Account()
	both := o.signer(o.policy, machine, bob)

	o.must(both, client.Transfer(to, 0), o.sponsor) // the account has no coins
	o.must(o.sponsor, client.Transfer(account, 1_000_000_000), nil)
	o.must(both, client.Transfer(to, 5), nil)
	if _, err := o.send(o.signer(o.policy, alice), client.Transfer(to, 5), nil); !errors.Is(err, client.ErrMissingProofs) {
		t.Errorf("one of three: got %v, want ErrMissingProofs", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()
	head, err := o.c.BlockNumber(ctx)
	if err != nil {
		t.Fatal(err)
	}
	hear, stop := iter.Pull2(o.c.SubscribeEvents(ctx, api.SubscriptionFilter{
		FromBlock: new(head + 1), ContractID: new(types.ContractID), Topics: []*types.Digest{nil, new(types.Digest(account))},
	}))
	defer stop()
	heard := func(name string, authority types.Account) api.Event {
		t.Helper()
		event, err, _ := hear()
		if err != nil || event.EventName != name || len(event.Topics) != 3 || !bytes.Equal(event.Topics[2], authority[:]) {
			t.Fatalf("heard %+v, %v, want %s to %s", event, err, name, authority)
		}
		return event
	}
	recovery := func() *api.PendingRecovery {
		t.Helper()
		found, err := o.c.Account(ctx, account, api.Latest())
		if err != nil {
			t.Fatal(err)
		}
		return found.Recovery
	}
	recovering := o.signer(o.policy, rescuer)

	o.must(recovering, client.Recover(&next), o.sponsor)
	started := heard("RecoveryStarted", next.Hash())
	if r := recovery(); r == nil || r.From != binary.LittleEndian.Uint64(started.Data) {
		t.Errorf("a recovery that is under way: got %+v, and heard of %x", r, started.Data)
	}
	o.must(both, client.SetPolicy(nil), nil)
	heard("PolicySet", account)
	if r := recovery(); r != nil {
		t.Errorf("a recovery that was stopped: got %+v", r)
	}

	o.must(recovering, client.Recover(&next), o.sponsor)
	heard("RecoveryStarted", next.Hash())
	if _, err := o.c.Dev().IncreaseTime(ctx, day); err != nil {
		t.Fatal(err)
	}
	if _, err := o.c.Dev().Mine(ctx, 1); err != nil {
		t.Fatal(err)
	}
	party, err := o.c.Party(ctx, account)
	if err != nil {
		t.Fatal(err)
	}
	if now, is := party.(client.PolicyAccount); !is || now.Policy.Hash() != next.Hash() {
		t.Errorf("a recovery that is over: got %+v, want the policy %s", party, next.Hash())
	}
	o.must(o.signer(next, machine), client.Transfer(to, 7), nil)
	if _, err := o.send(both, client.Transfer(to, 1), nil); !errors.Is(err, api.ErrWrongPolicy) {
		t.Errorf("the signers before: got %v, want ErrWrongPolicy", err)
	}
}
