package client

import (
	"context"
	"maps"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Behind a load balancer each request may reach another node, and nodes may be some blocks apart. A client therefore
// accepts as the latest state only one that includes every block it has seen.
const (
	// stalePause is the pause between retries while the answering node is behind, and staleTries the number of retries.
	// After these, the development chain must have been reverted.
	stalePause = 100 * time.Millisecond
	staleTries = 50
	// sentTime is the time for which the nonce of a sent transaction counts if the node does not know it.
	sentTime = time.Minute
	// mostSenders is the number of accounts at which expired nonces are removed.
	mostSenders = 4096
)

type sentNonce struct {
	next uint64
	at   time.Time
}

// saw records the height of a block that exists.
func (c *Client) saw(height types.Height) {
	for {
		seen := c.seen.Load()
		if uint64(height) <= seen || c.seen.CompareAndSwap(seen, uint64(height)) {
			return
		}
	}
}

// sent records that the node accepted a transaction.
func (c *Client) sent(tx types.Transaction) {
	now := time.Now()
	c.noncesMu.Lock()
	defer c.noncesMu.Unlock()
	if c.nonces == nil {
		c.nonces = make(map[types.Account]sentNonce)
	}
	if len(c.nonces) >= mostSenders {
		maps.DeleteFunc(c.nonces, func(_ types.Account, s sentNonce) bool { return now.Sub(s.at) >= sentTime })
	}
	c.nonces[tx.Sender] = sentNonce{max(tx.Nonce+1, c.nonces[tx.Sender].next), now}
}

// nonceAfter returns an account's next nonce, given the one that the node knows.
func (c *Client) nonceAfter(account types.Account, known uint64) uint64 {
	c.noncesMu.Lock()
	defer c.noncesMu.Unlock()
	if s, was := c.nonces[account]; was && time.Since(s.at) < sentTime {
		return max(known, s.next)
	}
	return known
}

// forget clears the seen height and nonces, after the chain was reverted.
func (c *Client) forget() {
	c.seen.Store(0)
	c.noncesMu.Lock()
	defer c.noncesMu.Unlock()
	clear(c.nonces)
}

// latest sends calls on the latest state in one request, and repeats it while the answering node is behind the blocks
// that this client has seen.
func (c *Client) latest(ctx context.Context, calls func(*Batch)) error {
	for try := 0; ; try++ {
		var batch Batch
		seen := c.seen.Load()
		if seen == 0 {
			calls(&batch)
			return batch.Send(ctx, c)
		}
		height := Add(&batch, api.BlockNumber, api.NoParams{}) // first: later calls see this block or a newer one
		calls(&batch)
		if err := batch.Send(ctx, c); err != nil {
			return err
		}
		at, err := height.Result()
		switch {
		case err != nil:
			return err
		case uint64(at) >= seen:
			return nil
		case try == staleTries:
			c.seen.CompareAndSwap(seen, uint64(at))
			return nil
		}
		if err := c.wait(ctx, stalePause); err != nil {
			return err
		}
	}
}

// invokeLatest calls a method on the latest state, as latest does.
func invokeLatest[P, R any](ctx context.Context, c *Client, method api.Method[P, R], params P) (result R, err error) {
	if c.seen.Load() == 0 {
		return Invoke(ctx, c, method, params)
	}
	var call Pending[R]
	if err := c.latest(ctx, func(b *Batch) { call = Add(b, method, params) }); err != nil {
		return result, err
	}
	return call.Result()
}
