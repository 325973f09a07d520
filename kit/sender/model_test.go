package sender_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

var errCrash = errors.New("the power is cut")

// dying is a journal that fails at some time, before or after a write, as if the process were killed there.
type dying struct {
	sender.Memory
	mu     sync.Mutex
	random *rand.Rand
	rarely int // 0: never
}

func (d *dying) Append(entries []sender.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dies := d.rarely > 0 && d.random.IntN(d.rarely) == 0
	if dies && d.random.IntN(2) == 0 {
		return errCrash
	}
	if err := d.Memory.Append(entries); err != nil || !dies {
		return err
	}
	return errCrash
}

// Whatever happens between the sender and the chain, each job that was not refused is in a block exactly once.
func TestEachJobIsDoneOnce(t *testing.T) {
	happened := make(map[string]int)
	for seed := range uint64(24) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			for fault, count := range runModel(t, seed) {
				happened[fault] += count
			}
		})
	}
	for _, fault := range []string{
		"request lost", "request late", "answer lost", "status 429", "status 503", "another node answers", "pool full",
		"refused for good", "no receipt yet", "no transaction by nonce", "pool lost", "other program", "blocks taken back",
		"crash", "cancelled", "too late to cancel", "expired",
	} {
		if happened[fault] == 0 {
			t.Errorf("%s: never happened", fault)
		}
	}
}

func runModel(t *testing.T, seed uint64) map[string]int {
	const jobs = 60
	signer := testSigner(t, 3)
	node := newFakeNode(t, signer.Account(), seed)
	server := httptest.NewServer(node)
	defer server.Close()
	atOnce := client.WithWait(func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
	c, err := client.New(server.URL, atOnce)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	journal := &dying{random: rand.New(rand.NewPCG(seed, 1)), rarely: 25}
	results := outcomes{receipts: make(map[int]api.Receipt), cancelled: make(map[int]bool)}
	for round := 0; len(results.receipts)+len(results.cancelled) < jobs; round++ {
		if round == 200 {
			t.Fatal("it does not end")
		}
		calm := round > 20
		node.mu.Lock()
		node.calm = calm
		node.mu.Unlock()
		if calm {
			journal.mu.Lock()
			journal.rarely = 0
			journal.mu.Unlock()
		}
		options := sender.Options{Journal: journal, Clock: node}
		switch seed % 4 {
		case 1: // each job is valid for a few blocks, and sent again if it expires
			options.ValidFor = 4 * time.Second
		case 3: // another account pays
			options.Payer, options.ValidFor = testSigner(t, 4), 20*time.Second
		}
		s, err := sender.Open(t.Context(), c, signer, options)
		if err != nil {
			continue // the network is faulty
		}
		if err := pay(t, s, jobs, &results); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			results.crashes++
		}
	}
	server.Close() // it waits for requests whose answers nobody awaited
	paid := make(map[types.Amount]included)
	for _, b := range node.blocks {
		amount := b.tx.Signed().Value
		if _, twice := paid[amount]; twice && amount != 0 {
			t.Errorf("job %d was paid twice", amount)
		}
		paid[amount] = b
	}
	for _, b := range node.blocks {
		tx := b.tx.Signed()
		switch ours := tx.Value < 1_000_000; {
		case ours && seed%2 == 1 && tx.ValidUntil == nil:
			t.Errorf("%s is valid for ever", b.tx.ID())
		case ours && (seed%4 == 3) != (tx.Payer != nil):
			t.Errorf("%s has the payer %v", b.tx.ID(), tx.Payer)
		case ours && types.VerifyWitnesses(types.Regtest, []*types.Tx{b.tx})[0] == nil: // others' have none
			t.Errorf("the witnesses of %s do not hold", b.tx.ID())
		case tx.ValidUntil != nil && *tx.ValidUntil < b.time:
			t.Errorf("%s is in a block after its time", b.tx.ID())
		}
	}
	for id := range results.cancelled {
		if _, is := paid[types.Amount(id)]; is {
			t.Errorf("job %d was cancelled and paid", id)
		}
	}
	for id, receipt := range results.receipts {
		b, is := paid[types.Amount(id)]
		if !is || b.tx.ID() != receipt.TransactionHash || b.height != receipt.BlockHeight ||
			b.failed != (client.Failure(receipt) != nil) {
			t.Errorf("job %d: receipt %+v of %+v", id, receipt, b)
		}
	}
	node.faults["crash"] += results.crashes
	node.faults["cancelled"] += len(results.cancelled)
	node.faults["too late to cancel"] += results.late
	return node.faults
}

// outcomes holds the results of jobs.
type outcomes struct {
	mu        sync.Mutex
	receipts  map[int]api.Receipt
	cancelled map[int]bool
	late      int // number of jobs that were to be cancelled and were in a block
	crashes   int
}

// payOne sends a job, and cancels every fourth.
func payOne(t *testing.T, s *sender.Sender, id int) (api.Receipt, error) {
	payload := client.Transfer(types.Account{5}, types.Amount(id))
	sent, err := s.Send(t.Context(), payload, sender.Job{ID: fmt.Sprint(id)})
	if err != nil {
		return api.Receipt{}, err
	}
	if id%8 == 4 {
		_, err = sent.Accepted(t.Context())
	}
	if err != nil || id%4 != 0 {
		return sent.Receipt(t.Context())
	}
	if err := sent.Cancel(t.Context()); err != nil {
		return api.Receipt{}, err
	}
	return api.Receipt{}, sender.ErrCancelled
}

// pay sends all jobs that are not cancelled, including paid ones, and waits for them. Refused ones are resent once.
func pay(t *testing.T, s *sender.Sender, jobs int, results *outcomes) error {
	var all sync.WaitGroup
	var failures error
	for id := 1; id <= jobs; id++ {
		results.mu.Lock()
		cancelled := results.cancelled[id]
		results.mu.Unlock()
		if cancelled {
			continue
		}
		all.Go(func() {
			for {
				receipt, err := payOne(t, s, id)
				results.mu.Lock()
				var late *sender.TooLate
				switch {
				case errors.Is(err, api.ErrCannotPay), errors.Is(err, api.ErrExpired):
					results.mu.Unlock()
					continue
				case errors.Is(err, sender.ErrCancelled):
					results.cancelled[id] = true
				case errors.As(err, &late):
					results.receipts[id] = late.Receipt
					results.late++
				case err == nil:
					results.receipts[id] = receipt
				case !errors.Is(err, errCrash) && !errors.Is(err, client.ErrUnreachable):
					failures = errors.Join(failures, fmt.Errorf("job %d: %w", id, err))
				}
				results.mu.Unlock()
				return
			}
		})
	}
	all.Wait()
	return failures
}
