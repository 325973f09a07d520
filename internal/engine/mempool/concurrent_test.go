package mempool

import (
	"errors"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// TestConcurrentUse runs senders, readers and a builder that makes blocks of the pool's transactions concurrently,
// until every transaction was included once.
func TestConcurrentUse(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{Journal: journalPath(t)})
	const senders, each = 8, 60
	var work sync.WaitGroup
	failed := make(chan error, senders)
	for i := range senders {
		work.Go(func() {
			for nonce := uint64(0); nonce < each; {
				batch := [][]byte{transfer(i, nonce, 100, 5), transfer(i, nonce+1, 100, types.Amount(nonce%50))}
				for _, r := range p.AddMany(t.Context(), batch, "test") {
					if r.Err != nil {
						failed <- r.Err
						return
					}
				}
				nonce += 2
				p.Stats()
				p.Pending(3)
				p.BySender(account(i))
				if _, err := p.NextNonce(account(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for included := 0; included < senders*each; {
		select {
		case <-p.Changed():
			included += buildBlock(t, c, p)
		case err := <-failed:
			t.Fatalf("add: %v", err)
		}
	}
	work.Wait()
	checkInvariants(t, p)
	if s := p.Stats(); s.Count != 0 {
		t.Fatalf("left over: %+v", s)
	}
}

// buildBlock includes the pool's transactions and returns their number. Every transaction must be valid in its turn.
func buildBlock(t *testing.T, c *fakeChain, p *Pool) (included int) {
	records := make(map[int]state.Account)
	env, best := c.env, p.Best(testBaseFee)
	for tx := best.Next(); tx != nil; tx = best.Next() {
		var i int
		for account(i) != tx.Signed().Sender {
			i++
		}
		record, ok := records[i]
		if !ok {
			c.mu.Lock()
			record = c.accounts[account(i)]
			c.mu.Unlock()
		}
		if err := exec.CheckAt(env, record, nil, tx); err != nil {
			t.Errorf("a builder got what is not valid: %v", err)
			best.SkipSender()
			continue
		}
		record.Nonce++
		records[i] = record
		included++
	}
	accesses := c.block(records)
	if err := p.Reset(c.head(), accesses); err != nil {
		t.Error(err)
	}
	return included
}

// TestCloseWhileAdding closes the pool under its callers: each gets an answer, and acknowledged transactions are kept.
func TestCloseWhileAdding(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t), SyncJournal: true}
	p := openPool(t, c, opts)
	var mu sync.Mutex
	var acknowledged []types.TxID
	var work sync.WaitGroup
	started := make(chan struct{}, 100)
	for i := range 8 {
		work.Go(func() {
			for nonce := range uint64(1000) {
				id, err := p.Add(t.Context(), transfer(i, nonce, 100, 5), "test")
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, id)
				mu.Unlock()
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 50 {
		<-started
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	p = openPool(t, c, opts)
	for _, id := range acknowledged {
		if _, ok := p.Get(id); !ok {
			t.Fatalf("%v is lost", id)
		}
	}
}

// TestSameNonceAtOnce offers many transactions for one nonce at the same time: one remains, whichever were
// acknowledged.
func TestSameNonceAtOnce(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			fee := types.Amount(100 + 20*i)
			_, err := p.Add(t.Context(), transfer(1, 0, fee, fee/2), "test")
			if err != nil && !errors.Is(err, ErrReplacementUnderpriced) {
				t.Error(err)
			}
		})
	}
	work.Wait()
	checkInvariants(t, p)
	pending := p.BySender(account(1))
	// a replacement must raise the fee by 10 %: at most the last two can be too low for that
	if len(pending) != 1 || pending[0].Tx.Signed().MaxFeePerGas < 100+20*17 {
		t.Fatalf("got %v", pending)
	}
}
