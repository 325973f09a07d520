package node

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// Run serves and makes blocks until ctx ends or a part fails, and then closes the node within endTime.
func (n *Node) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return n.front.Serve(n.listener) })
	group.Go(func() error { return n.admin.Wait(running) })
	producing, stopProducing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopProducing()
	group.Go(func() error { return n.role.Run(producing) })
	group.Go(func() error { return n.prune(producing) })
	group.Go(func() error { return n.keepSnapshots(producing) })
	group.Go(func() error { return n.loadState(producing) })
	group.Go(func() error { return n.announce(producing) })
	group.Go(func() error { return n.tellChanges(producing) })
	group.Go(func() error { return n.prove(running) })
	group.Go(func() error { return n.watchDisk(running) })
	group.Go(func() error { return n.rpc.FollowFees(running) })
	group.Go(func() error {
		<-running.Done()
		return n.stop(stopProducing)
	})
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(group.Wait(), n.Close()) }()
	return Await(running, ended, func() <-chan time.Time { return time.After(endTime) }, &n.stage)
}

// watchDisk returns the reason when the database stops accepting writes, or nil when ctx ends. Writers may then wait
// for ever.
func (n *Node) watchDisk(ctx context.Context) error {
	select {
	case <-n.dir.Failing():
		return n.dir.Failure()
	case <-ctx.Done():
		return nil
	}
}

// loadState loads into memory what of the state is not needed to begin.
func (n *Node) loadState(ctx context.Context) error {
	if n.load == nil {
		return nil
	}
	err := n.load(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// prune deletes the blocks beyond the retention after each new block.
func (n *Node) prune(ctx context.Context) error {
	if n.dir.Options().Chain.Retention == 0 {
		return nil
	}
	for {
		err := n.store.Prune(ctx)
		if err == nil {
			err = n.store.WaitHeight(ctx, n.store.Head().Header.Height+1)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// keepSnapshots makes snapshots until ctx ends.
func (n *Node) keepSnapshots(ctx context.Context) error {
	keep := n.config.Snapshots
	if n.snapshots == nil || keep.Interval == 0 {
		return nil
	}
	return n.snapshots.Keep(ctx, n.store, keep.Interval, n.keptSnapshots(), n.config.Log)
}

// keptSnapshots returns the number of newest snapshots to keep.
func (n *Node) keptSnapshots() int { return max(1, n.config.Snapshots.Count) }

// stop refuses new calls, waits for the running ones, and then stops the making of blocks, so that a caller who waits
// for a receipt may still get it.
func (n *Node) stop(stopProducing func()) error {
	defer stopProducing()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	n.role.HandOver(ctx)
	n.stage.enter("connections")
	n.front.Drain()
	if err := n.push.Shutdown(ctx); err != nil {
		n.config.Log.Warn("shutdown: closed remaining WebSocket connections", "error", err)
	}
	if err := n.front.Shutdown(ctx); err != nil {
		n.config.Log.Warn("shutdown: closed remaining JSON-RPC connections", "error", err)
	}
	n.admin.Shutdown(ctx)
	n.stage.enter("block production")
	return nil
}

// announce calls OnBlock for each new block until ctx ends.
func (n *Node) announce(ctx context.Context) error {
	if n.config.OnBlock == nil {
		return nil
	}
	for height := n.store.Head().Header.Height + 1; ; height++ {
		if err := n.store.WaitHeight(ctx, height); err != nil {
			return nil // the context has ended
		}
		header, err := n.store.Header(height)
		count := 0
		if err == nil {
			count, err = n.store.TransactionCount(height)
		}
		if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrAboveHead) {
			continue // a development chain was just reset to an earlier block
		}
		if err != nil {
			return err
		}
		n.config.OnBlock(header, count)
	}
}
