package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// paid is a payment as the sender of its transaction knows it.
type paid struct {
	height   types.Height
	index    uint32
	tx       types.TxID
	kind     api.PaymentKind
	from, to types.Account
	amount   types.Amount
}

// ledgerPage is the naive model's state after a block: nonces, each bank's debts, and the block's payments.
type ledgerPage struct {
	payments []paid
	nonces   map[types.Account]uint64
	owed     map[[2]types.Account]types.Amount // by bank and customer
	banks    []types.ContractID
}

func (p ledgerPage) next() ledgerPage {
	return ledgerPage{nonces: maps.Clone(p.nonces), owed: maps.Clone(p.owed), banks: slices.Clone(p.banks)}
}

// sentPayment is a transaction that was sent. A starved one has too little gas to finish.
type sentPayment struct {
	tx      types.SignedTransaction
	starved bool
}

// run applies the transaction by the rules of transfers and of the bank.
func (p *ledgerPage) run(s sentPayment, at api.Receipt) (success bool) {
	tx := s.tx.Transaction
	pay := func(kind api.PaymentKind, from, to types.Account, amount types.Amount) {
		if amount > 0 {
			p.payments = append(p.payments, paid{at.BlockHeight, uint32(at.TransactionIndex), s.tx.ID(), kind, from, to, amount})
		}
	}
	p.nonces[tx.Sender]++
	if s.starved {
		return false
	}
	switch payload := tx.Payload.(type) {
	case types.Transfer:
		pay(api.PaymentTransfer, tx.Sender, tx.Target, tx.Value)
	case types.Deploy:
		bank := types.NewContractID(tx.Sender, tx.Nonce)
		p.banks = append(p.banks, bank)
		pay(api.PaymentDeploy, tx.Sender, types.Account(bank), tx.Value)
	case types.Call:
		bank := tx.Target
		account := [2]types.Account{bank, tx.Sender}
		if payload.Function == "deposit" {
			p.owed[account] += tx.Value
			pay(api.PaymentCall, tx.Sender, bank, tx.Value)
			return true
		}
		if p.owed[account] == 0 {
			return false
		}
		pay(api.PaymentContract, bank, tx.Sender, p.owed[account])
		delete(p.owed, account)
	}
	return true
}

// paymentWatcher follows payments as docs/applications.md says, and goes back by its cursors if the chain is reverted.
type paymentWatcher struct {
	filter api.SubscriptionFilter
	mu     sync.Mutex
	pages  []api.PaymentPage
	came   chan struct{} // after each page
}

func (w *paymentWatcher) begin() api.SubscriptionFilter {
	w.mu.Lock()
	defer w.mu.Unlock()
	filter := w.filter
	if n := len(w.pages); n > 0 {
		filter.FromBlock, filter.Cursor = nil, w.pages[n-1].Resume
	}
	return filter
}

func (w *paymentWatcher) run(ctx context.Context, c *client.Client) error {
	for {
		for page, err := range c.Payments(ctx, w.begin()) {
			w.mu.Lock()
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, api.ErrTakenBack) && len(w.pages) > 0:
				w.pages = w.pages[:len(w.pages)-1]
			case err == nil:
				w.pages = append(w.pages, page)
			}
			w.mu.Unlock()
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil:
				select {
				case w.came <- struct{}{}:
				default: // it has not been read yet
				}
			case errors.Is(err, client.ErrUnreachable): // the node was down when it began
				<-time.After(loadPause)
			case !errors.Is(err, api.ErrTakenBack):
				return err
			}
		}
	}
}

// seen holds the payments of all pages.
func (w *paymentWatcher) seen() (all []paid) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, page := range w.pages {
		all = append(all, toldPayments(page)...)
	}
	return all
}

func toldPayments(page api.PaymentPage) (all []paid) {
	for _, p := range page.Payments {
		all = append(all, paid{
			height: p.BlockHeight,
			index:  p.TransactionIndex,
			tx:     p.TransactionHash,
			kind:   p.Kind,
			from:   p.From,
			to:     p.To,
			amount: types.Amount(p.Amount),
		})
	}
	return all
}

// paymentWalk is a development chain with a model of its payments.
type paymentWalk struct {
	t        *testing.T
	random   *rand.Rand
	dir      string
	node     *process
	client   *client.Client
	code     []byte
	signers  []client.Signer
	marker   types.Account // last payment of each block
	start    types.Height
	pages    []ledgerPage // from the block before start on
	watchers []*paymentWatcher
}

func (w *paymentWalk) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// launch starts the node, always at the same address.
func (w *paymentWalk) launch() {
	address := "127.0.0.1:0"
	if w.node != nil {
		at, err := url.Parse(w.node.RPC)
		w.must(err)
		address = at.Host
	}
	w.node = launchAt(w.t, address, "dev", "--data-dir", w.dir, "--block-time", "1h", "--prove", "off",
		"--rate-limit", "0")
	w.must(w.node.awaitReady())
}

func newPaymentWalk(t *testing.T, seed uint64) *paymentWalk {
	w := &paymentWalk{
		t: t, dir: filepath.Join(t.TempDir(), "chain"), random: rand.New(rand.NewPCG(seed, 0)), marker: types.Account{0: 9},
	}
	var err error
	w.code, err = os.ReadFile("../../contracts/wasm/bank.wasm")
	w.must(err)
	w.launch()
	w.client, err = client.New(w.node.RPC, client.WithRetry(0))
	w.must(err)
	t.Cleanup(w.client.Close)
	first := ledgerPage{nonces: map[types.Account]uint64{}, owed: map[[2]types.Account]types.Amount{}}
	for i := range byte(3) {
		key, err := crypto.NewPrivateKey([32]byte{0: 1, 31: i})
		w.must(err)
		w.signers = append(w.signers, client.NewSigner(key))
		_, err = w.client.Dev().Fund(t.Context(), w.signers[i].Account(), 1000*types.CoinUnits)
		w.must(err)
	}
	height, err := w.client.Dev().Mine(t.Context(), 1)
	w.must(err)
	w.start, w.pages = height+1, []ledgerPage{first}
	return w
}

// watch follows some lists in the background, each of which has the marker's payments.
func (w *paymentWalk) watch() {
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	w.t.Cleanup(func() { cancel(); running.Wait() })
	text := func(accounts ...types.Account) (list []string) {
		for _, account := range accounts {
			list = append(list, account.String())
		}
		return list
	}
	one, two := w.signers[0].Account(), w.signers[1].Account()
	for _, filter := range []api.SubscriptionFilter{
		{},
		{Accounts: text(w.marker, two), Direction: api.DirectionIn},
		{Accounts: text(one, two), Direction: api.DirectionOut},
		{Accounts: text(one)},
	} {
		filter.FromBlock = &w.start
		watcher := &paymentWatcher{filter: filter, came: make(chan struct{}, 1)}
		w.watchers = append(w.watchers, watcher)
		running.Go(func() {
			if err := watcher.run(ctx, w.client); err != nil {
				w.t.Errorf("%+v: error %v", filter, err)
			}
		})
	}
}

func (w *paymentWalk) sign(
	by client.Signer, nonce uint64, gas types.Gas, action client.Action,
) types.SignedTransaction {
	signed, err := client.Sign(w.t.Context(), by, types.Transaction{
		ChainID:              api.DevelopmentChainID,
		Sender:               by.Account(),
		Nonce:                nonce,
		GasLimit:             gas,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 1,
		Target:               action.Target,
		Value:                action.Value,
		Payload:              action.Payload,
	})
	w.must(err)
	return signed
}

// action returns a random action of a random signer.
func (w *paymentWalk) action(now ledgerPage) (action client.Action, gas types.Gas, starved bool) {
	amount := types.Amount(w.random.Uint64N(1000))
	choice := w.random.IntN(10)
	if len(now.banks) == 0 && choice > 2 {
		choice = 0
	}
	switch {
	case choice == 0 && len(now.banks) < 2:
		return client.Action{Value: amount, Payload: types.Deploy{Name: "Bank", Code: w.code}}, 60_000_000, false
	case choice <= 2:
		to := w.signers[w.random.IntN(len(w.signers))].Account() // also to the sender itself
		return client.Transfer(to, amount), 120_000, false
	}
	call := client.CallEncoded(now.banks[w.random.IntN(len(now.banks))], "deposit", nil, amount)
	switch {
	case choice == 3: // it runs out of gas after the value has moved
		return call, 45_000, true
	case choice <= 6:
		return call, bankGas, false
	}
	call.Value, call.Payload = 0, types.Call{Function: "withdraw"}
	return call, bankGas, false
}

// block sends some transactions and the marker's, makes a block of them, and applies the block to the model.
func (w *paymentWalk) block() {
	w.t.Helper()
	now := w.pages[len(w.pages)-1].next()
	nonces := maps.Clone(now.nonces)
	sent := make(map[types.TxID]sentPayment)
	send := func(by client.Signer, gas types.Gas, action client.Action, starved bool) {
		tx := w.sign(by, nonces[by.Account()], gas, action)
		nonces[by.Account()]++
		_, err := w.client.Send(w.t.Context(), tx)
		w.must(err)
		sent[tx.ID()] = sentPayment{tx, starved}
	}
	for range w.random.IntN(8) {
		action, gas, starved := w.action(now)
		send(w.signers[w.random.IntN(len(w.signers))], gas, action, starved)
	}
	send(w.signers[0], 120_000, client.Transfer(w.marker, 1), false)
	_, err := w.client.Dev().Mine(w.t.Context(), 1)
	w.must(err)
	var receipts []api.Receipt
	for id := range sent {
		receipt, err := client.Invoke(w.t.Context(), w.client, api.GetTransactionReceipt, api.TransactionParams{Hash: id})
		w.must(err)
		if receipt == nil {
			w.t.Fatalf("%s is in no block", id)
		}
		receipts = append(receipts, *receipt)
	}
	slices.SortFunc(receipts, func(a, b api.Receipt) int { return cmp.Compare(a.TransactionIndex, b.TransactionIndex) })
	for _, receipt := range receipts {
		if success := now.run(sent[receipt.TransactionHash], receipt); success != (client.Failure(receipt) == nil) {
			w.t.Fatalf("%+v: by the model it succeeds: %t", receipt, success)
		}
	}
	w.pages = append(w.pages, now)
}

// list returns the payments in a range of blocks that match a filter.
func (w *paymentWalk) list(accounts []string, direction api.Direction, from, to types.Height) (list []paid) {
	for _, page := range w.pages {
		for _, p := range page.payments {
			in := slices.Contains(accounts, p.to.String()) && direction != api.DirectionOut
			out := slices.Contains(accounts, p.from.String()) && direction != api.DirectionIn
			if p.height >= from && p.height <= to && (len(accounts) == 0 || in || out) {
				list = append(list, p)
			}
		}
	}
	return list
}

func (w *paymentWalk) head() types.Height { return w.start + types.Height(len(w.pages)) - 2 }

// compare compares the watchers' payments, and pages in both directions, with the model.
func (w *paymentWalk) compare(what string) {
	w.t.Helper()
	all := w.list(nil, "", w.start, w.head())
	last := all[len(all)-1]
	for _, watcher := range w.watchers {
		seen := watcher.seen()
		for !slices.Contains(seen, last) {
			select {
			case <-watcher.came:
			case <-w.t.Context().Done():
				w.t.Fatal("the last block's payment does not come")
			}
			seen = watcher.seen()
		}
		want := w.list(watcher.filter.Accounts, watcher.filter.Direction, w.start, w.head())
		if !slices.Equal(seen, want) {
			w.t.Fatalf("%s: %+v has seen %d payments %+v, want %d %+v", what, watcher.filter, len(seen), seen, len(want), want)
		}
	}
	for range 4 {
		w.comparePages(what)
	}
}

func (w *paymentWalk) comparePages(what string) {
	w.t.Helper()
	from := w.start + types.Height(w.random.IntN(len(w.pages)-1))
	to := from + types.Height(w.random.Uint64N(uint64(w.head()-from)+1))
	filter := api.PaymentFilter{FromBlock: &from, ToBlock: &to, Limit: new(1 + w.random.Uint64N(7))}
	filter.Direction = []api.Direction{api.DirectionIn, api.DirectionOut, api.DirectionBoth}[w.random.IntN(3)]
	filter.Order = []api.Order{api.OrderAscending, api.OrderDescending}[w.random.IntN(2)]
	for range w.random.IntN(3) {
		filter.Accounts = append(filter.Accounts, w.signers[w.random.IntN(len(w.signers))].Account().String())
	}
	want := w.list(filter.Accounts, filter.Direction, from, to)
	if filter.Order == api.OrderDescending {
		slices.Reverse(want)
	}
	var got []paid
	asked := filter
	for complete := false; !complete; {
		page, err := w.client.PaymentPage(w.t.Context(), asked)
		w.must(err)
		got = append(got, toldPayments(page)...)
		complete, asked.Cursor = page.Complete, page.Resume
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s: %+v of blocks %d to %d: %+v, want %+v", what, filter, from, to, got, want)
	}
}

// walk makes the given number of blocks, and reverts the chain and kills the node between them.
func (w *paymentWalk) walk(blocks int) {
	type point struct {
		id    uint64
		pages int
	}
	var points []point
	for i := range blocks {
		w.block()
		what := fmt.Sprintf("after block %d of the walk", i)
		switch i % 7 {
		case 1, 3:
			id, err := w.client.Dev().Snapshot(w.t.Context())
			w.must(err)
			points = append(points, point{id, len(w.pages)})
		case 4:
			to := w.random.IntN(len(points))
			w.must(w.client.Dev().Revert(w.t.Context(), points[to].id))
			w.pages, points = w.pages[:points[to].pages], points[:to]
			continue // the next block shows the remaining payments, and takes the place of a reverted one
		case 6:
			w.node.Kill()
			w.launch()
			points = nil // a restart forgets them
			what += ", killed"
		}
		w.compare(what)
	}
}

// The payments to accounts, by subscription and by pages in both directions, equal those of a naive model, however
// coins move, across reverted blocks and kills. Failed transactions pay nothing.
func TestPaymentsAgainstAModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(killsOf(t, 2)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newPaymentWalk(t, seed)
			w.watch()
			w.walk(21)
			kinds := map[api.PaymentKind]int{}
			for _, p := range w.list(nil, "", w.start, w.head()) {
				kinds[p.kind]++
			}
			t.Logf("%d blocks, payments by kind: %v", len(w.pages)-1, kinds)
		})
	}
}
