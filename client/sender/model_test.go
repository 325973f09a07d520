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
	"github.com/cairn-chain/cairn/client/sender"
	"github.com/cairn-chain/cairn/types"
)

var errCrash = errors.New("the power is cut")

// dying is a journal that fails at some time, before or after it has written: what a process that is killed there
// leaves.
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

// Whatever happens between the sender and the chain, each job that was not refused is in a block once.
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
		"crash",
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
	results := make(map[int]api.Receipt)
	for round := 0; len(results) < jobs; round++ {
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
		s, err := sender.Open(t.Context(), c, signer, sender.Options{Journal: journal, Clock: node})
		if err != nil {
			continue // the network is bad
		}
		if err := pay(t, s, jobs, results); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			node.faults["crash"]++
		}
	}
	paid := make(map[types.Amount]included)
	for _, b := range node.blocks {
		amount := b.tx.Signed().Payload.Value()
		if _, twice := paid[amount]; twice && amount != 0 {
			t.Errorf("job %d was paid twice", amount)
		}
		paid[amount] = b
	}
	for id, receipt := range results {
		b, is := paid[types.Amount(id)]
		if !is || b.tx.ID() != receipt.TransactionHash || b.height != receipt.BlockHeight ||
			b.failed != (client.Failure(receipt) != nil) {
			t.Errorf("job %d: receipt %+v of %+v", id, receipt, b)
		}
	}
	return node.faults
}

// pay sends all jobs, those that were paid too, and waits for them: what was refused is sent once more.
func pay(t *testing.T, s *sender.Sender, jobs int, results map[int]api.Receipt) error {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failures error
	for id := 1; id <= jobs; id++ {
		all.Go(func() {
			for {
				payload := client.Transfer(types.Account{2}, types.Amount(id))
				sent, err := s.Send(t.Context(), payload, sender.Job{ID: fmt.Sprint(id)})
				var receipt api.Receipt
				if err == nil {
					receipt, err = sent.Receipt(t.Context())
				}
				mu.Lock()
				switch {
				case errors.Is(err, api.ErrCannotPay):
					mu.Unlock()
					continue
				case err == nil:
					results[id] = receipt
				case !errors.Is(err, errCrash) && !errors.Is(err, client.ErrUnreachable):
					failures = errors.Join(failures, fmt.Errorf("job %d: %w", id, err))
				}
				mu.Unlock()
				return
			}
		})
	}
	all.Wait()
	return failures
}
