package e2e

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	txsender "github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

// programOfThePage compiles the program in a section of docs/applications.md.
func programOfThePage(t *testing.T, heading string) string {
	t.Helper()
	_, rest, _ := strings.Cut(applicationsPage(t), "\n### "+heading+"\n")
	_, rest, _ = strings.Cut(rest, "\n```go\n")
	source, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatalf("the page has no program under %s", heading)
	}
	return compiled(t, source)
}

// compiled compiles a program from its source.
func compiled(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	main, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(main, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.CommandContext(t.Context(), "go", "build", "-o", program, main)
	compile.Dir = "../.."
	// As for the tests themselves, so that packages are not compiled again.
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return program
}

// killsOf returns how often a walk kills its programs: CAIRN_KILLS times, or a few times if that variable is not set.
func killsOf(t *testing.T, otherwise int) int {
	t.Helper()
	text := os.Getenv("CAIRN_KILLS")
	if text == "" {
		return otherwise
	}
	kills, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return kills
}

// depositWalk is a node on disk, the watcher of 1,000 deposit addresses, and the payer.
type depositWalk struct {
	t        *testing.T
	program  string
	book     string
	deposits []types.Account
	node     *process
	dir      string
	watcher  *exec.Cmd
	lines    io.Reader
	// the watcher's error if it ends by itself
	complaint bytes.Buffer
	random    *rand.Rand
}

func (e *depositWalk) startNode() {
	e.t.Helper()
	address := "127.0.0.1:0"
	if e.node != nil {
		at, err := url.Parse(e.node.RPC)
		if err != nil {
			e.t.Fatal(err)
		}
		address = at.Host
	}
	e.node = launchAt(e.t, address, "dev", "--data-dir", e.dir, "--block-time", "20ms", "--prove", "off",
		"--rate-limit", "0")
	if err := e.node.awaitReady(); err != nil {
		e.t.Fatal(err)
	}
}

func (e *depositWalk) startWatcher() {
	e.t.Helper()
	var addresses strings.Builder
	for _, deposit := range e.deposits {
		fmt.Fprintln(&addresses, deposit)
	}
	e.watcher = exec.CommandContext(e.t.Context(), e.program, e.node.RPC, e.book)
	e.complaint.Reset()
	e.watcher.Stderr = &e.complaint
	e.watcher.Stdin = strings.NewReader(addresses.String())
	lines, err := e.watcher.StdoutPipe()
	if err == nil {
		err = e.watcher.Start()
	}
	if err != nil {
		e.t.Fatal(err)
	}
	e.lines = lines
}

// killWatcher kills the watcher after it has printed the given number of lines, one for each page.
func (e *depositWalk) killWatcher(lines int) {
	e.t.Helper()
	scanner := bufio.NewScanner(e.lines)
	for ; lines > 0 && scanner.Scan(); lines-- {
	}
	if err := e.watcher.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		e.t.Fatal(err)
	}
	_ = e.watcher.Wait() // the watcher was killed
}

// watchTo reads the watcher's output up to a height, and ends the watcher. A watcher that began while its node was away
// has ended by itself: it is restarted, as a service is.
func (e *depositWalk) watchTo(height types.Height) {
	e.t.Helper()
	for {
		for scanner := bufio.NewScanner(e.lines); scanner.Scan(); {
			var at types.Height
			if n, _ := fmt.Sscanf(scanner.Text(), "all up to block %d", &at); n == 1 && at >= height {
				e.killWatcher(0)
				return
			}
		}
		if err := e.watcher.Wait(); !strings.Contains(e.complaint.String(), "cannot reach") {
			e.t.Fatalf("the watcher ended by itself (%v): %s", err, e.complaint.String())
		}
		e.startWatcher()
	}
}

// booked returns the book's entries in order.
func (e *depositWalk) booked() (payments []api.Payment) {
	e.t.Helper()
	text, err := os.ReadFile(e.book)
	if err != nil {
		e.t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var page api.PaymentPage
		if err := json.Unmarshal(line, &page); err != nil {
			e.t.Fatal(err)
		}
		payments = append(payments, page.Payments...)
	}
	return payments
}

const bankGas = 1_000_000 // gas limit of a call of the bank

// deposit is a payment as its sender knows it.
type deposit struct {
	tx     types.TxID
	kind   api.PaymentKind
	to     types.Account
	amount api.Quantity
}

// The watcher of docs/applications.md records each deposit once and in order, by transfers and by contracts, however
// often it and its node are killed.
func TestDepositsAreSeenOnce(t *testing.T) {
	t.Parallel()
	kills := killsOf(t, 5)
	e := &depositWalk{
		t: t, program: programOfThePage(t, "Watch deposits, each once"), book: filepath.Join(t.TempDir(), "book"),
		dir: filepath.Join(t.TempDir(), "chain"), random: rand.New(rand.NewPCG(3, 4)),
	}
	for i := uint32(0); len(e.deposits) < api.MaxPaymentAccounts-1; i++ {
		account := types.Account{0: 7}
		if binary.BigEndian.PutUint32(account[28:], i); types.IsKey(account) { // otherwise senders refuse to pay it
			e.deposits = append(e.deposits, account)
		}
	}
	e.startNode()
	c, payer := fundedSigner(t, e.node, 3, 1000)
	_, shop := fundedSigner(t, e.node, 4, 1000)
	payerSender, shopSender := openSender(t, c, payer), openSender(t, c, shop)
	bank := deployExample(t, shopSender, "bank")
	// An earlier block funded the account: the watcher sees that deposit too.
	e.deposits = append(e.deposits, shop.Account())
	funding := e.firstDeposits(c, shop.Account())
	e.startWatcher()

	var sent []*txsender.Sent
	var expected []deposit
	send := func(s *txsender.Sender, action client.Action, gas types.Gas, d deposit) {
		job, err := s.Send(t.Context(), action, txsender.Job{ID: strconv.Itoa(len(sent)), GasLimit: gas})
		if err != nil {
			t.Fatal(err)
		}
		sent, expected = append(sent, job), append(expected, d)
	}
	bankCall := func(function string, value types.Amount) client.Action {
		action, err := client.Call(bank, function, nil, value)
		if err != nil {
			t.Fatal(err)
		}
		return action
	}
	for range kills {
		for range 20 {
			to, amount := e.deposits[e.random.IntN(len(e.deposits))], types.Amount(e.random.Uint64N(1000)+1)
			send(payerSender, client.Transfer(to, amount), 0, // the gas that the node estimates
				deposit{kind: api.PaymentTransfer, to: to, amount: api.Quantity(amount)})
		}
		amount := types.Amount(e.random.Uint64N(1000) + 1)
		// The gas is not estimated, because a withdrawal's estimate fails until its deposit is in a block.
		send(shopSender, bankCall("deposit", amount), bankGas, deposit{})
		send(shopSender, bankCall("withdraw", 0), bankGas,
			deposit{kind: api.PaymentContract, to: shop.Account(), amount: api.Quantity(amount)})
		e.killOne(sent)
	}
	var top types.Height
	for i, receipt := range succeeded(t, sent) {
		expected[i].tx, top = receipt.TransactionHash, max(top, receipt.BlockHeight)
	}
	e.watchTo(top)
	expected = slices.DeleteFunc(expected, func(d deposit) bool { return d.kind == "" })
	e.holdTo(append(funding, expected...))
}

// killOne kills the watcher or the node, and restarts it. By then the node has acknowledged one of the sends.
func (e *depositWalk) killOne(sent []*txsender.Sent) {
	e.t.Helper()
	if e.random.IntN(2) == 0 {
		e.killWatcher(e.random.IntN(6))
		e.startWatcher()
		return
	}
	if _, err := sent[e.random.IntN(len(sent))].Accepted(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
	e.node.Kill()
	e.startNode()
}

// succeeded waits for the receipts of sends, which must all succeed.
func succeeded(t *testing.T, sent []*txsender.Sent) (receipts []api.Receipt) {
	t.Helper()
	for i, s := range sent {
		receipt, err := s.Receipt(t.Context())
		if err == nil {
			err = client.Failure(receipt)
		}
		if err != nil {
			t.Fatalf("send %d: error %v", i, err)
		}
		receipts = append(receipts, receipt)
	}
	return receipts
}

// firstDeposits returns the payments to an account before the watcher began.
func (e *depositWalk) firstDeposits(c *client.Client, account types.Account) (found []deposit) {
	e.t.Helper()
	page, err := client.Invoke(e.t.Context(), c, api.GetPayments, api.GetPaymentsParams{
		Filter: api.PaymentFilter{Accounts: []string{account.String()}, Direction: api.DirectionIn},
	})
	if err != nil || len(page.Payments) != 1 {
		e.t.Fatalf("the first deposits: got %+v, error %v, want 1 payment", page, err)
	}
	for _, p := range page.Payments {
		found = append(found, deposit{p.TransactionHash, p.Kind, p.To, p.Amount})
	}
	return found
}

// holdTo compares the book with the deposits: each must occur once, in the order of the chain.
func (e *depositWalk) holdTo(expected []deposit) {
	e.t.Helper()
	missing := map[deposit]int{}
	for _, d := range expected {
		missing[d]++
	}
	place := func(p api.Payment) string { return fmt.Sprintf("%016x %08x", p.BlockHeight, p.TransactionIndex) }
	last := ""
	for _, p := range e.booked() {
		d := deposit{p.TransactionHash, p.Kind, p.To, p.Amount}
		if missing[d]--; missing[d] < 0 {
			e.t.Errorf("not expected, or twice: %+v", d)
		}
		if place(p) <= last {
			e.t.Errorf("%s comes after %s", place(p), last)
		}
		last = place(p)
	}
	for d, count := range missing {
		if count > 0 {
			e.t.Errorf("missed: got %+v", d)
		}
	}
	e.t.Logf("%d deposits to %d addresses", len(expected), len(e.deposits))
}

func openSender(t *testing.T, c *client.Client, signer client.Signer) *txsender.Sender {
	t.Helper()
	s, err := txsender.Open(t.Context(), c, signer, txsender.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// deployExample deploys an example contract.
func deployExample(t *testing.T, s *txsender.Sender, name string) types.ContractID {
	t.Helper()
	code, err := os.ReadFile("../../contracts/wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	action, err := client.Deploy(name, code, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := s.Send(t.Context(), action, txsender.Job{})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := sent.Receipt(t.Context())
	if err != nil || client.Failure(receipt) != nil || receipt.ContractAddress == nil {
		t.Fatalf("%s: got %+v, error %v", name, receipt, err)
	}
	return *receipt.ContractAddress
}
