package mempool

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// crowd returns transfers with a max fee of 100, or of 30 for the second half of the odd senders.
var crowd = sync.OnceValue(func() (encoded [][]byte) {
	for i := range crowdSenders {
		for nonce := range crowdEach {
			fee := types.Amount(100)
			if i%2 == 1 && nonce >= crowdEach/2 {
				fee = 30
			}
			encoded = append(encoded, transfer(i, uint64(nonce), fee, 5))
		}
	}
	return encoded
})

const crowdSenders, crowdEach = 16, 50 // more than revalidateStep

// crowdedPool is a pool of a crowd.
func crowdedPool(t testing.TB) (*fakeChain, *Pool) {
	c := newChain()
	p := openPool(t, c, Options{})
	for _, r := range p.AddMany(t.Context(), crowd(), "test") {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return c, p
}

// staleSenders returns the number of senders that wait to be revalidated.
func (p *Pool) staleSenders() (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.index.senders {
		if s.rules != p.revalidation.rules {
			count++
		}
	}
	return count
}

// Changed parameters are applied in steps. Until its turn comes a sender is not executable, unless one of its
// transactions is touched. In the end the pool is as if everything had been done at once.
func TestParametersAreAppliedInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := crowdedPool(t)
		synctest.Wait()
		p.mu.Lock() // revalidateLoop waits for it, so that only the first step is done
		c.env.Parameters.MinBaseFee, c.env.BaseFee = 31, 31
		c.block(nil)
		p.moveTo(c.head(), nil)
		p.expire()
		listed := len(p.index.executable)
		p.mu.Unlock()
		if listed == 0 || listed > crowdSenders/2 {
			t.Errorf("%d senders of %d are executable after the first step", listed, crowdSenders)
		}
		checkInvariants(t, p)
		synctest.Wait()
		checkInvariants(t, p)
		if n := p.staleSenders(); n > 0 || p.revalidation.next != nil {
			t.Errorf("%d senders were not revalidated", n)
		}
		if got, want := p.Stats().Count, crowdSenders/2*(crowdEach+crowdEach/2); got != want {
			t.Errorf("%d transactions are left instead of %d", got, want)
		}
		if got := len(best(p, 31)); got != p.Stats().Count {
			t.Errorf("%d are executable", got)
		}
	})
}

// While senders wait to be revalidated, only allowed transactions are executable.
func TestChangesWhileSendersWait(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, c *fakeChain, p *Pool){
		"a transfer of one that waits": func(t *testing.T, _ *fakeChain, p *Pool) {
			add(t, p, transfer(14, crowdEach, 100, 5))
			refuse(t, p, transfer(15, crowdEach/2+1, 30, 5), exec.ErrFeeTooLow)
			add(t, p, transfer(15, crowdEach/2, 100, 5))
		},
		"a transfer of a new one": func(t *testing.T, _ *fakeChain, p *Pool) {
			id := add(t, p, transfer(40, 0, 100, 50))
			if got := best(p, 31); len(got) == 0 || got[0] != id {
				t.Error("the best one is not that of the new sender")
			}
		},
		"a block": func(t *testing.T, c *fakeChain, p *Pool) {
			reset(t, p, c, map[int]state.Account{15: {Balance: rich, Nonce: 10}, 14: {Balance: 1}})
		},
		"other parameters": func(t *testing.T, c *fakeChain, p *Pool) {
			c.env.Parameters.MinBaseFee, c.env.BaseFee = 20, 20
			reset(t, p, c, nil)
			c.env.Parameters.MinBaseFee, c.env.BaseFee = 101, 101
			reset(t, p, c, nil)
			if n := p.Stats().Count; n == crowdSenders*crowdEach {
				t.Error("nothing was dropped")
			}
		},
		"expiry": func(t *testing.T, c *fakeChain, p *Pool) {
			c.pass(4 * time.Hour)
			reset(t, p, c, nil)
			if n := p.Stats().Count; n > 0 {
				t.Errorf("%d transactions are left", n)
			}
		},
		"its end": func(t *testing.T, _ *fakeChain, p *Pool) {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := crowdedPool(t)
				c.env.Parameters.MinBaseFee, c.env.BaseFee = 31, 31
				if err := p.Reset(c.head(), nil); err == nil {
					t.Fatal("a block that is none was taken")
				}
				c.block(nil)
				if err := p.Reset(c.head(), nil); err != nil {
					t.Fatal(err)
				}
				do(t, c, p)
				checkInvariants(t, p)
				if name == "its end" {
					return
				}
				synctest.Wait()
				checkInvariants(t, p)
				if n := p.staleSenders(); n > 0 {
					t.Errorf("%d senders were not revalidated", n)
				}
			})
		})
	}
}

// BenchmarkParameters changes the parameters under 200,000 transactions of 250 senders, a quarter of which the new ones
// do not allow. It measures the total time, and the longest time under the lock.
func BenchmarkParameters(b *testing.B) {
	verified := verifyAll([]*types.Tx{decoded(b, transfer(0, 0, 100, 5)), decoded(b, transfer(0, 0, 30, 5))})
	var whole time.Duration
	longest, steps := time.Hour, 0
	for b.Loop() {
		b.StopTimer()
		longestNow := time.Duration(0)
		c := newChain()
		p := openPool(b, c, Options{})
		for i := range 250 {
			s := newSender(account(i), state.Account{Balance: rich})
			for nonce := range uint64(800) {
				tx := verified[0]
				if i%2 == 1 && nonce >= 400 {
					tx = verified[1]
				}
				cost, _, err := costOf(tx.Signed())
				if err != nil {
					b.Fatal(err)
				}
				e := &entry{
					tx: tx, sender: s, nonce: nonce, cost: cost, added: c.now(), claims: exec.Claims{Sender: account(i)},
				}
				p.remember(e)
				p.extend(s, e)
			}
			p.publish(s)
		}
		c.env.Parameters.MinBaseFee, c.env.BaseFee = 31, 31
		head := c.head()
		b.StartTimer()
		p.mu.Lock() // held throughout, so that revalidateLoop does nothing
		start := time.Now()
		p.moveTo(head, nil)
		for done := false; !done; steps++ {
			took := time.Since(start)
			whole, longestNow = whole+took, max(longestNow, took)
			start = time.Now()
			done = p.revalidateSome()
		}
		p.mu.Unlock()
		longest = min(longest, longestNow) // of several runs, the one that other programs disturbed least
		if got := p.Stats().Count; got != 150_000 {
			b.Fatalf("%d transactions are left", got)
		}
	}
	b.ReportMetric(float64(whole)/float64(b.N)/float64(time.Millisecond), "whole-ms")
	b.ReportMetric(float64(longest)/float64(time.Millisecond), "longest-step-ms")
	b.ReportMetric(float64(steps)/float64(b.N), "steps")
}
