package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	txsender "github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

var sends = flag.Int("sends", 640, "how many transactions TestEstimatesHoldWhileOthersChangeTheState sends")

// crowd is 64 senders of one node and the contracts that they call.
type crowd struct {
	t       *testing.T
	c       *client.Client
	senders []*txsender.Sender

	gold, silver, pool, router, escrow, counter types.ContractID

	mu     sync.Mutex // guards the fields below
	ratios map[string][]float64
	failed map[string]int
}

const inTime = uint64(99_999_999_999)

// do sends a call with the estimated gas limit and returns the receipt.
func (w *crowd) do(s *txsender.Sender, action client.Action) api.Receipt {
	sent, err := s.Send(w.t.Context(), action, txsender.Job{})
	if err != nil {
		w.t.Error(err)
		return api.Receipt{}
	}
	receipt, err := sent.Receipt(w.t.Context())
	if err != nil {
		w.t.Error(err)
	}
	return receipt
}

// call is do for a function of a contract, and records the result.
func (w *crowd) call(s *txsender.Sender, contract types.ContractID, function string, args any, value types.Amount) api.Receipt {
	action, err := client.Call(contract, function, args, value)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.note(function, w.do(s, action))
}

func (w *crowd) note(kind string, receipt api.Receipt) api.Receipt {
	if receipt.GasUsed == 0 {
		return receipt // the failure is reported
	}
	tx, err := w.c.Transaction(w.t.Context(), receipt.TransactionHash)
	if err != nil || tx == nil {
		w.t.Errorf("%s: error %v", receipt.TransactionHash, err)
		return receipt
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ratios[kind] = append(w.ratios[kind], float64(tx.GasLimit)/float64(receipt.GasUsed))
	if err := client.Failure(receipt); err != nil {
		w.failed[fmt.Sprintf("%s: %v", kind, err)]++
	}
	return receipt
}

func (w *crowd) deploy(name string, args any) types.ContractID {
	w.t.Helper()
	code, err := os.ReadFile("../../contracts/wasm/" + name + ".wasm")
	if err != nil {
		w.t.Fatal(err)
	}
	action, err := client.Deploy(name, code, args, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	receipt := w.do(w.senders[0], action)
	if err := client.Failure(receipt); err != nil || receipt.ContractAddress == nil {
		w.t.Fatalf("%s: error %v", name, err)
	}
	return *receipt.ContractAddress
}

type object = map[string]any

// prepare deploys the contracts and gives tokens to all senders.
func (w *crowd) prepare() {
	w.t.Helper()
	token := object{"name": "Gold", "symbol": "GLD", "decimals": 0, "initialSupply": 1_000_000_000_000}
	w.gold, w.silver = w.deploy("nep20", token), w.deploy("nep20", token)
	w.pool = w.deploy("pool", object{"tokenA": w.gold, "tokenB": w.silver})
	pool, err := w.c.Contract(w.t.Context(), w.pool)
	if err != nil {
		w.t.Fatal(err)
	}
	w.router = w.deploy("router", object{"poolCode": pool.CodeHash})
	w.escrow, w.counter = w.deploy("escrow", nil), w.deploy("counter", nil)
	owner := w.senders[0]
	for _, k := range []types.ContractID{w.gold, w.silver} {
		w.call(owner, k, "approve", object{"spender": w.pool, "amount": 1_000_000_000}, 0)
	}
	w.call(owner, w.pool, "add", object{"maxA": 1_000_000_000, "maxB": 1_000_000_000, "minShares": 1, "deadline": inTime}, 0)
	var all sync.WaitGroup
	for _, s := range w.senders {
		all.Go(func() {
			for _, k := range []types.ContractID{w.gold, w.silver} {
				w.call(owner, k, "transfer", object{"to": s.Account(), "amount": 1_000_000}, 0)
				w.call(s, k, "approve", object{"spender": w.router, "amount": 1_000_000}, 0)
			}
		})
	}
	all.Wait()
	w.ratios = map[string][]float64{}
}

// some makes one of several calls, whose effects depend on others' calls in the same block: balances, reserves and
// accounts that come and go.
func (w *crowd) some(s *txsender.Sender, r *rand.Rand) {
	other := w.senders[r.IntN(len(w.senders))].Account()
	switch r.IntN(6) {
	case 0:
		to := types.Account{0: 1, 30: byte(r.Uint32()), 31: byte(r.Uint32())}
		w.note("a new account's transfer", w.do(s, client.Transfer(to, 1)))
	case 1:
		w.call(s, w.gold, "transfer", object{"to": types.Account{0: 2, 31: byte(r.IntN(64))}, "amount": 1 + r.IntN(9)}, 0)
	case 2:
		path := []types.ContractID{w.gold, w.silver}
		if r.IntN(2) == 0 {
			slices.Reverse(path)
		}
		w.call(s, w.router, "swap", object{
			"pools": []types.ContractID{w.pool}, "path": path, "amount": 100 + r.IntN(900), "minimum": 1, "deadline": inTime,
		}, 0)
	case 3:
		w.call(s, w.counter, "add", object{"amount": 1}, 0)
	default:
		if other == s.Account() {
			other = types.Account{31: 9}
		}
		opened := w.call(s, w.escrow, "open", object{"seller": other, "arbiter": types.Account{31: 8}, "deadline": inTime}, 1)
		var deal uint32
		if err := json.Unmarshal(opened.ReturnData, &deal); err != nil {
			w.t.Errorf("open returned %s", opened.ReturnData)
			return
		}
		w.call(s, w.escrow, "release", object{"deal": deal}, 0)
	}
}

// TestEstimatesHoldWhileOthersChangeTheState: 64 accounts send transfers and calls at once, some with nested calls,
// with estimated gas limits. None fails, although earlier transactions of its block change the state.
func TestEstimatesHoldWhileOthersChangeTheState(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "500ms", "--prove", "off", "--rate-limit", "0")
	w := &crowd{t: t, c: connect(t, node), ratios: map[string][]float64{}, failed: map[string]int{}}
	for i := range loadSenders {
		signer := client.NewSigner(keyOf(fmt.Sprintf("sender %d", i)))
		fund(t, w.c, signer.Account(), 10_000)
		s, err := txsender.Open(t.Context(), w.c, signer, txsender.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		w.senders = append(w.senders, s)
	}
	w.prepare()
	var all sync.WaitGroup
	for i, s := range w.senders {
		const atOnce = 4
		for k := range atOnce {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				for range max(1, *sends/loadSenders/atOnce) {
					w.some(s, random)
				}
			})
		}
	}
	all.Wait()
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(w.ratios)) {
		ratios := w.ratios[kind]
		slices.Sort(ratios)
		total += len(ratios)
		t.Logf("%5d × %s: gas limit ÷ gas used: median %.2f, most %.2f", len(ratios), kind, ratios[len(ratios)/2], ratios[len(ratios)-1])
	}
	if t.Logf("%d transactions", total); len(w.failed) > 0 {
		t.Errorf("of %d transactions failed: %v", total, w.failed)
	}
}
