package client

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Behind a load balancer each request may reach another node, and one may be some blocks behind the other. What this
// client has seen is the least that it takes for the latest state from then on.
const (
	// stalePause is the time between two questions where the node that answered is behind, staleTries how often it is
	// asked again: after that a development chain was taken back.
	stalePause = 100 * time.Millisecond
	staleTries = 50
	// sentTime is how long the nonce of a transaction that was sent counts though the node that is asked does not know it.
	sentTime = time.Minute
	// mostSenders is how many accounts' nonces are kept before those that do not count any more are thrown away.
	mostSenders = 4096
)

// sentNonces are the nonces after the newest transactions that accounts have sent through a client.
type sentNonces struct {
	mu sync.Mutex
	of map[types.Account]sentNonce
}

type sentNonce struct {
	next uint64
	at   time.Time
}

// saw notes that there is a block of a height.
func (c *Client) saw(height types.Height) {
	for {
		seen := c.seen.Load()
		if uint64(height) <= seen || c.seen.CompareAndSwap(seen, uint64(height)) {
			return
		}
	}
}

// sent notes that a transaction was taken.
func (c *Client) sent(tx types.Transaction) {
	n, now := &c.nonces, time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = make(map[types.Account]sentNonce)
	}
	if len(n.of) >= mostSenders {
		maps.DeleteFunc(n.of, func(_ types.Account, s sentNonce) bool { return now.Sub(s.at) >= sentTime })
	}
	n.of[tx.Sender] = sentNonce{max(tx.Nonce+1, n.of[tx.Sender].next), now}
}

// nonceAfter is the nonce for an account's next transaction, if a node says that it is told.
func (c *Client) nonceAfter(account types.Account, told uint64) uint64 {
	c.nonces.mu.Lock()
	defer c.nonces.mu.Unlock()
	if s, was := c.nonces.of[account]; was && time.Since(s.at) < sentTime {
		return max(told, s.next)
	}
	return told
}

// forget forgets what was seen: the chain was taken back.
func (c *Client) forget() {
	c.seen.Store(0)
	c.nonces.mu.Lock()
	defer c.nonces.mu.Unlock()
	clear(c.nonces.of)
}

// latest makes a request of calls on the latest state, and makes it again while the node that answers has not come as
// far as this client has seen.
func (c *Client) latest(ctx context.Context, calls func(*Batch)) error {
	for try := 0; ; try++ {
		var batch Batch
		seen := c.seen.Load()
		if seen == 0 {
			calls(&batch)
			return batch.Send(ctx, c)
		}
		height := Add(&batch, api.BlockNumber, api.NoParams{}) // first: what comes after is of this block or a later one
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
