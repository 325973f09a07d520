package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func TestSendSignsWhatWasAsked(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	o := desk.run(t, "send", "dev1", "1.5", "--from", "dev0", "--json")
	dev0, dev1 := developmentAccount(t, "dev0"), developmentAccount(t, "dev1")
	tx := node.onlySent(t)
	want := types.Transaction{
		Sender:               dev0,
		Target:               dev1,
		ChainID:              api.DevelopmentChainID,
		Nonce:                4,
		GasLimit:             10_000,
		MaxFeePerGas:         21,
		MaxPriorityFeePerGas: 1,
		Value:                150_000_000,
		Payload:              types.Transfer{},
	}
	if !reflect.DeepEqual(tx.Transaction, want) {
		t.Errorf("sent %+v, want %+v", tx.Transaction, want)
	}
	got := result[submit.Included](t, o)
	if got.TransactionHash != tx.ID() || got.BlockHeight != 18 || got.Fee != 20_000*11 || got.Balance == nil ||
		*got.Balance != api.Quantity(node.balance) {
		t.Errorf("result %s", o.out)
	}
	if !strings.Contains(o.err, tx.ID().String()) {
		t.Errorf("the hash is not told while waiting: %q", o.err)
	}
}

func TestSendTakesEveryField(t *testing.T) {
	node := startNode(t)
	o := newDesk(t, node).run(t, "send", hash("05"), "7u", "--from", "dev0", "--gas-limit", "50000", "--max-fee", "30",
		"--priority-fee", "0", "--nonce", "0", "--no-wait", "--json")
	tx := node.onlySent(t)
	if tx.GasLimit != 50_000 || tx.MaxFeePerGas != 30 || tx.MaxPriorityFeePerGas != 0 || tx.Nonce != 0 ||
		tx.Value != 7 {
		t.Errorf("sent %+v", tx)
	}
	if got := result[struct{ TransactionHash types.TxID }](t, o); got.TransactionHash != tx.ID() {
		t.Errorf("result %s", o.out)
	}
}

func TestDryRunSendsNothing(t *testing.T) {
	node := startNode(t)
	// A dry run needs no key of its account: a wallet may have it.
	o := newDesk(t, node).run(t, "send", "dev1", "1.5", "--from", hash("05"), "--dry-run", "--json")
	plan := result[submit.Plan](t, o)
	tx, err := types.DecodeUnsigned(plan.Unsigned)
	if err != nil || tx.Sender[0] != 5 || tx.Value != 150_000_000 || plan.MaxCost != 150_000_000+80_000*21 {
		t.Errorf("got %+v, %v, %s", tx, err, o.out)
	}
	if plan.To == nil || *plan.To != developmentAccount(t, "dev1") || plan.Parameters != nil {
		t.Errorf("result %s", o.out)
	}
	if len(node.sent) != 0 {
		t.Error("a transaction was sent")
	}
}

func TestSendAsksForThePassword(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	desk.answers = []string{testPassword}
	if o := desk.run(t, "send", "dev1", "1", "--from", "alice"); o.exit != 0 || len(desk.asked) != 1 {
		t.Errorf("%+v, asked %q", o, desk.asked)
	}
	if sender := node.onlySent(t).Sender; !strings.HasPrefix(sender.String(), "0xf9308a01") {
		t.Errorf("sent by %s", sender)
	}
}

func TestSenderFromTheEnvironment(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	desk.env = append(desk.env, "CAIRN_FROM=dev3")
	if o := desk.run(t, "send", "dev1", "1"); o.exit != 0 || node.onlySent(t).Sender != developmentAccount(t, "dev3") {
		t.Errorf("got %+v", o)
	}
}

func TestDevelopmentAccountsAreForTheirChain(t *testing.T) {
	node := startNode(t)
	node.chainID = 5
	o := newDesk(t, node).run(t, "send", "dev1", "1", "--from", "dev0", "--json")
	if d := o.document(t); o.exit != 2 || !strings.Contains(d.Error.Message, "31337") || len(node.sent) != 0 {
		t.Errorf("got %+v", o)
	}
}

// TestTimeUp: the error contains the hash of a transaction that is not in a block yet.
func TestTimeUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	node := &fakeNode{chainID: api.DevelopmentChainID, balance: math.MaxUint64, late: api.ErrTimeUp}
	methods := append(node.accounts(), node.sending()...)
	server, err := jsonrpc.NewServer(jsonrpc.Options{}, append(methods,
		method(api.GasPrice, func(api.NoParams) (api.GasPriceInfo, error) {
			return api.GasPriceInfo{SuggestedMaxFee: 21}, nil
		}),
		method(api.GetTransactionReceipt, func(api.TransactionParams) (*api.Receipt, error) {
			cancel()
			return nil, nil
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(server)
	defer http.Close()
	node.url = http.URL
	o := newDesk(t, node).runContext(ctx, "send", "dev1", "1", "--from", "dev0", "--json")
	d := o.document(t)
	id, _ := d.Error.Data["hash"].(string)
	if o.exit != 1 || d.Error.Code != -32040 || len(id) != 66 || !strings.Contains(o.err, id) {
		t.Errorf("got %+v", o)
	}
}

// TestBalanceUnknownAfterwards: the command succeeds although the node stops answering after the payment.
func TestBalanceUnknownAfterwards(t *testing.T) {
	asked := 0
	node := &fakeNode{chainID: api.DevelopmentChainID}
	methods := []jsonrpc.Method{
		method(api.GetBalance, func(api.GetBalanceParams) (api.Quantity, error) {
			if asked++; asked > 1 {
				return 0, errors.New("out of order")
			}
			return math.MaxUint64, nil
		}),
		method(api.GasPrice, func(api.NoParams) (api.GasPriceInfo, error) {
			return api.GasPriceInfo{SuggestedMaxFee: 21}, nil
		}),
	}
	for _, m := range append(node.accounts(), node.sending()...) {
		if m.Name() != api.GetBalance.Name {
			methods = append(methods, m)
		}
	}
	server, err := jsonrpc.NewServer(jsonrpc.Options{
		Incident: func(context.Context, string, error) string { return "1" },
	}, methods...)
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(server)
	defer http.Close()
	node.url = http.URL
	o := newDesk(t, node).run(t, "send", "dev1", "1", "--from", "dev0", "--json")
	if got := result[submit.Included](t, o); o.exit != 0 || got.Balance != nil || !strings.Contains(o.err, "balance") {
		t.Errorf("got %+v", o)
	}
}

func TestConfigure(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	key := desk.write(t, "admin.key", strings.Repeat("0", 63)+"3\n")
	alice, err := types.ParseBytes32[types.Account]("f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9")
	if err != nil {
		t.Fatal(err)
	}
	present := types.Parameters{
		Version:      2,
		GasLimit:     50_000_000,
		BlockBytes:   2_000_000,
		TargetBPS:    5000,
		MinBaseFee:   10,
		MaxBaseFee:   1000,
		Producer:     types.PublicKey{1},
		FeeRecipient: types.Account{2},
		Admin:        types.Account{3},
		Notice:       1000,
		Upgrade:      &types.Upgrade{Version: 3, From: 5},
	}
	node.upgrade = &api.Upgrade{Version: 3, From: 5}
	tests := []struct {
		flag, value string
		change      func(*types.Parameters)
	}{
		{"--gas-limit", "60000000", func(p *types.Parameters) { p.GasLimit = 60_000_000 }},
		{"--target-bps", "4000", func(p *types.Parameters) { p.TargetBPS = 4000 }},
		{"--min-base-fee", "12", func(p *types.Parameters) { p.MinBaseFee = 12 }},
		{"--max-base-fee", "0", func(p *types.Parameters) { p.MaxBaseFee = 0 }},
		{"--producer", "alice", func(p *types.Parameters) { p.Producer = types.PublicKey(alice) }},
		{"--fee-recipient", "alice", func(p *types.Parameters) { p.FeeRecipient = alice }},
		{"--block-bytes", "3000000", func(p *types.Parameters) { p.BlockBytes = 3_000_000 }},
		{"--notice", "2s", func(p *types.Parameters) { p.Notice = 2000 }},
		{"--admin", "alice", func(p *types.Parameters) { p.Admin = alice }},
		{"upgrade cancel", "", func(p *types.Parameters) { p.Upgrade = nil }},
		{"upgrade announce --version 4 --at 2100-01-01T00:00:00Z", "", func(p *types.Parameters) {
			p.Upgrade = &types.Upgrade{Version: 4, From: 4_102_444_800_000}
		}},
	}
	for _, test := range tests {
		t.Run(test.flag, func(t *testing.T) {
			node.sent = nil
			words := []string{"configure", test.flag, test.value}
			if test.value == "" {
				words = strings.Fields(test.flag)
			}
			o := desk.run(t, append(words, "--admin-key", key)...)
			want := present
			test.change(&want)
			tx := node.onlySent(t)
			if o.exit != 0 || tx.Sender != alice || !reflect.DeepEqual(tx.Payload, types.Configure{Parameters: want}) {
				t.Errorf("%+v sent %+v, want %+v", o, tx, want)
			}
			if warned := strings.Contains(o.err, "Warning"); warned != (test.flag == "--admin") {
				t.Errorf("warned: %v: %q", warned, o.err)
			}
		})
	}
}

// TestRefusedSendNamesNoTransaction: a refused transaction has no hash to name.
func TestRefusedSendNamesNoTransaction(t *testing.T) {
	node := startNode(t)
	node.refuse = api.ErrIntrinsicGas
	o := newDesk(t, node).run(t, "send", "dev1", "1", "--from", "dev0")
	if o.exit != 1 || strings.Contains(o.err, "0x") || !strings.Contains(o.err, "intrinsic gas") {
		t.Errorf("got %+v, want exit code 1 and no %q and %q", o, "0x", "intrinsic gas")
	}
}

// TestNodeGoneWhileWaiting: the transaction may be in a block anyway, so the error names it.
func TestNodeGoneWhileWaiting(t *testing.T) {
	for _, gone := range []string{api.SendRawTransaction.Name, api.SendRawTransactionSync.Name} {
		node := startNode(t)
		target, err := url.Parse(node.url)
		if err != nil {
			t.Fatal(err)
		}
		forward := httputil.NewSingleHostReverseProxy(target)
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || strings.Contains(string(body), `"`+gone+`"`) {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			forward.ServeHTTP(w, r)
		}))
		node.url = proxy.URL
		o := newDesk(t, node).run(t, "send", "dev1", "1", "--from", "dev0", "--json")
		proxy.Close()
		d := o.document(t)
		hash, _ := d.Error.Data["hash"].(string)
		want := "may still be included in a block: check with cairn tx " + hash
		if o.exit != 3 || len(hash) != 66 || !strings.Contains(d.Error.Message, want) {
			t.Errorf("%s: got %+v", gone, o)
		}
	}
}

// TestCannotPayInCoins: an amount given in coins gets an error in coins.
func TestCannotPayInCoins(t *testing.T) {
	node := startNode(t)
	o := newDesk(t, node).run(t, "send", "dev1", "11.5", "--from", "dev0")
	want := "the sender has 10 coins, and the transaction may cost 11.5 coins (code -32004)"
	if o.exit != 1 || !strings.Contains(o.err, want) {
		t.Errorf("got %+v, want exit code 1 and %q", o, want)
	}
}

func TestNegativeNumbers(t *testing.T) {
	node := startNode(t)
	o := newDesk(t, node).run(t, "send", "dev1", "-5", "--from", "dev0")
	if o.exit != 2 || !strings.Contains(o.err, "no argument can be negative") || len(node.sent) != 0 {
		t.Errorf("got %+v", o)
	}
}

func TestSendAllTakesNoAmounts(t *testing.T) {
	node := startNode(t)
	for _, flag := range []string{"--nonce=1", "--gas-limit=21000", "--priority-fee=1", "--dry-run"} {
		o := newDesk(t, node).run(t, "send", "dev1", "all", "--from", "dev0", flag)
		if o.exit != 2 || len(node.sent) != 0 {
			t.Errorf("%s: got %+v", flag, o)
		}
	}
}
