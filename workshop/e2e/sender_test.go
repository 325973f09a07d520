package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	txsender "github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

// fundedSigner returns the signer of an account with the given coins, and the node's client.
func fundedSigner(t *testing.T, node *process, key byte, coins types.Amount) (*client.Client, client.Signer) {
	t.Helper()
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	private, err := crypto.NewPrivateKey([32]byte{31: key})
	if err != nil {
		t.Fatal(err)
	}
	signer := client.NewSigner(private)
	fund(t, c, signer.Account(), coins)
	return c, signer
}

func fund(t *testing.T, c *client.Client, account types.Account, coins types.Amount) {
	t.Helper()
	id, err := c.Dev().Fund(t.Context(), account, coins*types.CoinUnits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitReceipt(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func balance(t *testing.T, c *client.Client, account types.Account) types.Amount {
	t.Helper()
	units, err := c.Balance(t.Context(), account, api.Latest())
	if err != nil {
		t.Fatal(err)
	}
	return units
}

// Concurrent sends from one account are all included, without a filled nonce gap. Then a sweep leaves nothing, whether
// its recipient is in the state or not.
func TestSendsAtOnceFromOneAccount(t *testing.T) {
	t.Parallel()
	const sends = 500
	node := startDev(t, "--ephemeral", "--block-time", "100ms", "--prove", "off", "--rate-limit", "0")
	c, signer := fundedSigner(t, node, 3, 20)
	s, err := txsender.Open(t.Context(), c, signer, txsender.Options{
		OnFiller: func(types.TxID) { t.Error("a nonce had to be filled") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	to := types.Account{31: 8}
	var all sync.WaitGroup
	for i := range sends {
		all.Go(func() {
			sent, err := s.Send(t.Context(), client.Transfer(to, types.Amount(i+1)), txsender.Job{})
			if err != nil {
				t.Error(err)
				return
			}
			if receipt, err := sent.Receipt(t.Context()); err != nil || client.Failure(receipt) != nil {
				t.Errorf("send %d: got %+v, error %v", i, receipt, err)
			}
		})
	}
	all.Wait()
	if got := balance(t, c, to); got != sends*(sends+1)/2 {
		t.Errorf("the recipient has %d units", got)
	}
	for _, target := range []types.Account{to, {31: 6}} {
		fund(t, c, s.Account(), 1)
		had := balance(t, c, s.Account())
		sent, err := s.SendAll(t.Context(), target, txsender.Job{})
		if err != nil {
			t.Fatal(err)
		}
		before := balance(t, c, target)
		receipt, err := sent.Receipt(t.Context())
		if err != nil || client.Failure(receipt) != nil {
			t.Fatalf("sweep: got %+v, error %v", receipt, err)
		}
		fee := types.Amount(receipt.GasUsed) * types.Amount(receipt.EffectiveGasPrice)
		if left, got := balance(t, c, s.Account()), balance(t, c, target); left != 0 || got-before != had-fee {
			t.Errorf("of %d units %d are left, %d arrived, and the fee was %d", had, left, got-before, fee)
		}
	}
}

// Twenty simultaneous commands from one account all succeed; then one sends the whole rest.
func TestCommandsAtOnceFromOneAccount(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "200ms", "--prove", "off", "--rate-limit", "0")
	u, c := newUser(t).of(node), connect(t, node)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if r := u.run("send", "dev1", "1", "--from", "dev0"); r.code != exitDone {
				t.Errorf("exit code %d, want %d: got %s", r.code, exitDone, r)
			}
		})
	}
	all.Wait()
	nonce, err := c.Nonce(t.Context(), devAccount(t, node, 0), api.NonceRef{})
	if got := balance(t, c, devAccount(t, node, 1)); err != nil || nonce != 20 || got != 10_020*types.CoinUnits {
		t.Errorf("%d transactions (%v), dev1 has %d units", nonce, err, got)
	}
	var r receipt
	u.succeeds(&r, "send", "dev1", "all", "--from", "dev0")
	if r.Status != 1 || r.Balance == nil || *r.Balance != 0 {
		t.Errorf("after all was sent: got %+v", r)
	}
	f := u.run("send", "dev1", "all", "--from", "dev0")
	if f.code != exitFailed || !strings.Contains(f.stderr, "0 coins") {
		t.Errorf("nothing was sent: got %s, want code %v and %q", f, exitFailed, "0 coins")
	}
	u.succeeds(nil, "fund", "dev0", "2.5")
	if got := balance(t, c, devAccount(t, node, 0)); got != 250_000_000 {
		t.Errorf("dev0 was given %d units, want 250,000,000", got)
	}
}

// A pending transaction is cancelled by its hash and by its nonce. An included or unknown transaction causes an error.
func TestCancelCommand(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "1h", "--prove", "off", "--rate-limit", "0")
	u, c := newUser(t).of(node), connect(t, node)
	var sent [3]receipt
	for i := range sent {
		u.succeeds(&sent[i], "send", "dev1", fmt.Sprint(i+1), "--from", "dev0", "--no-wait")
	}
	var plan struct{ From, To, Value, Nonce, MaxFeePerGas string }
	u.succeeds(&plan, "cancel", "1", "--from", devAccount(t, node, 0).String(), "--dry-run", "--max-fee", "1000")
	if plan.To != plan.From || plan.Value != "0x0" || plan.Nonce != "0x1" || plan.MaxFeePerGas != "0x3e8" {
		t.Errorf("planned: got %+v, want To %v and Value 0x0 and Nonce 0x1 and MaxFeePerGas 0x3e8", plan, plan.From)
	}
	for flag, fee := range map[string]string{"--max-fee": "1", "--priority-fee": "0"} {
		r := u.run("cancel", "1", "--from", "dev0", flag, fee)
		if r.code != exitUsage || !strings.Contains(r.stderr, flag) || !strings.Contains(r.stderr, "at least") {
			t.Errorf("cancel with %s %s: got %s, want code %v and %q and %q", flag, fee, r, exitUsage, flag, "at least")
		}
	}
	var all sync.WaitGroup
	for i, which := range []string{sent[0].TransactionHash.String(), "1"} {
		all.Go(func() {
			r := u.run("cancel", which, "--from", "dev0", "--json")
			if r.code != exitDone || !strings.Contains(r.stdout, `"cancelled":"`+sent[i].TransactionHash.String()) {
				t.Errorf("cancel %s: got %s", which, r)
			}
		})
	}
	for cancelled := 0; cancelled < 2; {
		pool, err := c.PendingTransactions(t.Context(), api.PendingFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range pool {
			if tx.Value == 0 {
				cancelled++
			}
		}
		if cancelled < 2 {
			cancelled = 0
		}
	}
	if _, err := c.Dev().Mine(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if got := balance(t, c, devAccount(t, node, 1)); got != 10_003*types.CoinUnits {
		t.Errorf("dev1 has %d units", got)
	}
	var again, instead receipt
	u.succeeds(&again, "send", "dev1", "5", "--from", "dev0", "--no-wait")
	u.succeeds(&instead, "cancel", again.TransactionHash.String(), "--from", "dev0", "--no-wait", "--max-fee", "1000")
	pool, err := c.PendingTransactions(t.Context(), api.PendingFilter{})
	if err != nil || len(pool) != 1 || pool[0].Hash != instead.TransactionHash || pool[0].MaxFeePerGas != 1000 {
		t.Errorf("the mempool has %+v (%v), want %s", pool, err, instead.TransactionHash)
	}
	for which, want := range map[string]string{
		"1": "in block 1", sent[2].TransactionHash.String(): "in block 1", "7": "no pending transaction with nonce 7",
		types.TxID{1}.String(): "no pending transaction 0x01",
	} {
		if r := u.run("cancel", which, "--from", "dev0"); r.code != exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("cancel %s: got %s, want code %v and %q", which, r, exitFailed, want)
		}
	}
}

// killer forwards requests to a node. At one of them it kills a program, before or after the node has got the request.
type killer struct {
	node  string
	after bool // the node has answered, but the program does not learn it

	mu   sync.Mutex
	at   int // number of requests until the kill; negative: never
	kill func()
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	dies := false
	if bytes.HasPrefix(body, []byte("[")) { // the sender's own request
		k.mu.Lock()
		dies = k.at == 0
		k.at--
		k.mu.Unlock()
	}
	if dies && !k.after {
		k.kill()
		panic(http.ErrAbortHandler)
	}
	answer, err := http.Post(k.node, "application/json", bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = answer.Body.Close() }() // the request has been read
	text, err := io.ReadAll(answer.Body)
	if dies {
		k.kill()
	}
	if err != nil || dies {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(text); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// The pay-out program of docs/applications.md is killed fifty times, at any of its requests, before or after the node
// has got the request. Each of 300 withdrawals is paid exactly once.
func TestPayoutsAreSafeToRepeat(t *testing.T) {
	t.Parallel()
	const kills, eachTime = 50, 6
	program, dir := programOfThePage(t, "Pay out, each once"), t.TempDir()
	node := startDev(t, "--ephemeral", "--block-time", "20ms", "--prove", "off", "--rate-limit", "0")
	c, signer := fundedSigner(t, node, 3, 100)
	account := signer.Account()
	target := types.Account{31: 8}
	random := rand.New(rand.NewPCG(1, 2))
	var withdrawals strings.Builder
	count, killed := 0, 0
	for killed < kills || count < kills*eachTime {
		for ; count < min(kills, killed+1)*eachTime; count++ {
			fmt.Fprintln(&withdrawals, count+1, target, count+1)
		}
		command := exec.CommandContext(t.Context(), program, "", filepath.Join(dir, "journal"))
		k := &killer{node: node.RPC, after: random.IntN(2) == 0, at: random.IntN(7)}
		k.kill = func() { _ = command.Process.Kill() } // the program may have ended
		proxy := httptest.NewServer(k)
		command.Args[1], command.Stdin = proxy.URL, strings.NewReader(withdrawals.String())
		output, err := command.CombinedOutput()
		proxy.Close()
		switch status := command.ProcessState; {
		case status.ExitCode() == -1:
			killed++
		case err != nil:
			t.Fatalf("%v: %s", err, output)
		}
	}
	last := exec.CommandContext(t.Context(), program, node.RPC, filepath.Join(dir, "journal"))
	last.Stdin = strings.NewReader(withdrawals.String())
	output, err := last.CombinedOutput()
	if err != nil || strings.Count(string(output), " paid in block ") != count {
		t.Fatalf("the last run (%v) printed %s", err, output)
	}
	nonce, err := c.Nonce(t.Context(), account, api.NonceRef{})
	got, want := balance(t, c, target), types.Amount(count*(count+1)/2)
	if err != nil || nonce != uint64(count) || got != want {
		t.Errorf("%d transactions (%v), %d units: want %d and %d", nonce, err, got, count, want)
	}
}
