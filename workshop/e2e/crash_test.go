package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

var (
	kills = flag.Int("kills", 8, "how often TestCrashUnderLoad kills the node")
	seed  = flag.Uint64("seed", 0, "seed of what tests choose by chance; 0 takes a new one")
)

const (
	longestLife  = 3 * time.Second        // time under load until the kill
	longestStart = 400 * time.Millisecond // time until a start is killed
	checkTime    = 3 * time.Minute        // time for the checks of one life
)

// TestCrashUnderLoad kills a node at random moments under full load and restarts it on its remains. Nothing that it has
// reported to anyone may be lost, changed or done twice.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again with the same choices: -run TestCrashUnderLoad -kills %d -seed %d", *kills, *seed)
		}
	})
	instant := max(1, *kills/4)
	t.Run("blocks at an interval", func(t *testing.T) {
		s := newSurvivor(t, 1, 512)
		s.start = func() []string {
			interval := time.Duration(200+s.random.IntN(800)) * time.Millisecond
			return []string{"node", "--data-dir", s.dir, "--block-time", interval.String()}
		}
		s.run(*kills - instant)
	})
	t.Run("a block for each transaction", func(t *testing.T) {
		s := newSurvivor(t, 2, 8)
		s.start = func() []string { return []string{"node", "--data-dir", s.dir, "--block-time", "0"} }
		s.run(instant)
	})
}

// survivor is a node that is killed repeatedly, with everything that it has reported.
type survivor struct {
	t      *testing.T
	random *rand.Rand
	dir    string
	start  func() []string // command that starts the node
	load   *load
	model  *model // of the blocks that were seen

	told struct {
		height   types.Height
		receipts map[types.TxID]api.Receipt
		recent   []types.TxID // those of the last life
	}
	lives, stillborn int
}

// newSurvivor makes a network with funded senders, each of which may have the given number of transactions pending.
func newSurvivor(t *testing.T, stream, outstanding uint64) *survivor {
	t.Helper()
	s := &survivor{
		t: t, random: rand.New(rand.NewPCG(
			*seed, stream,
		)), dir: filepath.Join(t.TempDir(), "chain"), load: newLoad(outstanding),
	}
	s.told.receipts = map[types.TxID]api.Receipt{}
	newUser(t).succeeds(nil, append([]string{"init", s.dir}, s.load.allocations()...)...)
	return s
}

// run kills the node the given number of times, and then lets it complete its work.
func (s *survivor) run(kills int) {
	s.t.Helper()
	begun := time.Now()
	for range kills {
		var err error
		if s.random.IntN(5) == 0 {
			err = s.killStarting()
		} else {
			err = s.live(kill)
		}
		if err != nil {
			s.t.Fatalf("after %d lives: error %v", s.lives, err)
		}
	}
	if err := s.finish(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%d kills, %d of them during the start: %d transactions acknowledged, %d included, %d blocks, %d receipts "+
		"seen, %.0f s",
		kills, s.stillborn, s.load.acknowledged(), len(s.model.included), s.model.head.Height, len(s.told.receipts),
		time.Since(begun).Seconds())
}

// killStarting kills the node while it opens its directory after the last life.
func (s *survivor) killStarting() error {
	s.stillborn++
	node := launch(s.t, s.start()...)
	select {
	case <-time.After(time.Duration(s.random.Int64N(int64(longestStart)))):
	case <-node.Ended():
		return node.EndedEarly()
	}
	node.Kill()
	return nil
}

// kill ends a node abruptly.
func kill(node *process) error {
	node.Kill()
	return nil
}

// live starts the node, checks it, and ends it after a random time under load.
func (s *survivor) live(end func(*process) error) error {
	s.lives++
	node := launch(s.t, s.start()...)
	if err := node.awaitReady(); err != nil {
		return err
	}
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := s.check(c); err != nil {
		return err
	}
	if err := s.load.prepare(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	parts := []func() error{
		func() error { return s.load.run(ctx, node.RPC) },
		func() error { return s.watchBlocks(ctx, c) },
		func() error { return s.watchReceipts(ctx, c) },
	}
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() { errs[i] = part() })
	}
	select {
	case <-time.After(time.Duration(s.random.Int64N(int64(longestLife)))):
	case <-node.Ended():
		err = node.EndedEarly()
	}
	err = errors.Join(err, end(node))
	cancel()
	running.Wait()
	return errors.Join(append(errs, err)...)
}

// watchBlocks follows the chain until the node has ended.
func (s *survivor) watchBlocks(ctx context.Context, c *client.Client) error {
	for {
		height, err := c.BlockNumber(ctx)
		if err == nil {
			s.told.height = max(s.told.height, height)
			err = s.model.follow(ctx, c)
			s.load.settle(s.model)
		}
		if gone(ctx, err) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// watchReceipts requests the receipts of pending transactions, and records the available ones, until the node is gone.
func (s *survivor) watchReceipts(ctx context.Context, c *client.Client) error {
	for i := 0; ; i++ {
		var batch client.Batch
		var calls []client.Pending[*api.Receipt]
		for _, id := range s.load.senders[i%len(s.load.senders)].pending() {
			calls = append(calls, client.Add(&batch, api.GetTransactionReceipt, api.TransactionParams{Hash: id}))
		}
		err := batch.Send(ctx, c)
		for _, call := range calls {
			if err == nil {
				var receipt *api.Receipt
				if receipt, err = call.Result(); receipt != nil {
					s.told.receipts[receipt.TransactionHash] = *receipt
					s.told.recent = append(s.told.recent, receipt.TransactionHash)
				}
			}
		}
		if gone(ctx, err) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// check compares the node that has just started with all reports of its earlier lives.
func (s *survivor) check(c *client.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if s.model == nil {
		id, err := c.ChainID(ctx)
		if err != nil {
			return err
		}
		s.load.chainID = id
		s.model, err = newModel(ctx, c)
		return err
	}
	height, err := c.BlockNumber(ctx)
	if err != nil {
		return err
	}
	if height < s.told.height {
		return fmt.Errorf("the head is block %d, and %d was told", height, s.told.height)
	}
	if err := s.checkPending(ctx, c); err != nil {
		return err
	}
	block, err := c.BlockByNumber(ctx, api.AtHeight(s.model.head.Height), false)
	if err != nil {
		return err
	}
	if block == nil || block.Hash != s.model.hash {
		return fmt.Errorf("block %d was %s and is %v", s.model.head.Height, s.model.hash, block)
	}
	if err := s.model.follow(ctx, c); err != nil {
		return err
	}
	s.load.settle(s.model)
	if err := s.model.compare(ctx, c); err != nil {
		return err
	}
	err = s.checkReceipts(ctx, c, s.told.recent)
	s.told.recent = nil
	return err
}

// checkPending asks for each acknowledged transaction that was not seen in a block.
func (s *survivor) checkPending(ctx context.Context, c *client.Client) error {
	for _, sender := range s.load.senders {
		var batch client.Batch
		var calls []client.Pending[api.TransactionStatus]
		ids := sender.pending()
		for _, id := range ids {
			calls = append(calls, client.Add(&batch, api.GetTransactionStatus, api.TransactionParams{Hash: id}))
		}
		if err := batch.Send(ctx, c); err != nil {
			return err
		}
		for i, call := range calls {
			status, err := call.Result()
			if err != nil {
				return err
			}
			if status.Status != api.StatusPending && status.Status != api.StatusSuccess {
				return fmt.Errorf("the acknowledged transaction %s of sender %d is %s", ids[i], sender.number, status.Status)
			}
		}
	}
	return nil
}

// checkReceipts requests receipts again that were seen before.
func (s *survivor) checkReceipts(ctx context.Context, c *client.Client, ids []types.TxID) error {
	for part := range slices.Chunk(ids, 500) {
		var batch client.Batch
		var calls []client.Pending[*api.Receipt]
		for _, id := range part {
			calls = append(calls, client.Add(&batch, api.GetTransactionReceipt, api.TransactionParams{Hash: id}))
		}
		if err := batch.Send(ctx, c); err != nil {
			return err
		}
		for i, call := range calls {
			receipt, err := call.Result()
			if err != nil {
				return err
			}
			if receipt == nil || !reflect.DeepEqual(*receipt, s.told.receipts[part[i]]) {
				return fmt.Errorf("the receipt of %s was %+v and is %+v", part[i], s.told.receipts[part[i]], receipt)
			}
		}
	}
	return nil
}

// finish starts the node once more, lets it include the pending transactions, and checks the whole chain, through the
// node and in its database.
func (s *survivor) finish() error {
	node := launch(s.t, s.start()...)
	if err := node.awaitReady(); err != nil {
		return err
	}
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := s.check(c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	for missing := s.load.missing(s.model); len(missing) > 0; missing = s.load.missing(s.model) {
		if err := s.model.follow(ctx, c); err != nil {
			return fmt.Errorf(
				"%d acknowledged transactions are not in a block yet, %s is the first: %w", len(missing), missing[0], err,
			)
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
		}
	}
	if err := s.model.compare(ctx, c); err != nil {
		return err
	}
	if err := s.checkReceipts(ctx, c, slices.Collect(maps.Keys(s.told.receipts))); err != nil {
		return err
	}
	again, err := newModel(ctx, c)
	if err != nil {
		return err
	}
	if err := again.follow(ctx, c); err != nil {
		return fmt.Errorf("from the beginning: %w", err)
	}
	if err := node.Stop(); err != nil {
		return fmt.Errorf("the node did not stop well: %w", err)
	}
	return s.checkDatabase(again)
}

// checkDatabase runs the program's check of the data directory, which has the model's chain or more.
func (s *survivor) checkDatabase(m *model) error {
	var report struct{ Head, Transactions uint64 }
	newUser(s.t).succeeds(&report, "db", "check", "--data-dir", s.dir)
	if report.Head < uint64(m.head.Height) || report.Transactions != uint64(len(m.included)) {
		return fmt.Errorf("the database holds %d transactions up to block %d, and the model %d up to %d",
			report.Transactions, report.Head, len(m.included), m.head.Height)
	}
	return nil
}
