package chain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

func TestWaitHeight(t *testing.T) {
	s, c := newStore(t, Options{}, 1)
	must(t, s.WaitHeight(context.Background(), 1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	requireIs(t, "a wait that is given up", s.WaitHeight(ctx, 2), context.Canceled)

	var waiting sync.WaitGroup
	seen := make([]types.Height, 4)
	for i := range seen {
		waiting.Go(func() {
			if err := s.WaitHeight(context.Background(), 3); err != nil {
				t.Error(err)
			}
			seen[i] = s.Head().Header.Height
		})
	}
	r := rand.New(rand.NewPCG(7, 8))
	must(t, s.Append(c.next(t, r, 1)))
	must(t, s.Append(c.next(t, r, 1)))
	waiting.Wait()
	for _, h := range seen {
		if h != 3 {
			t.Errorf("woken at %d, want 3", h)
		}
	}
	closed := make(chan error)
	go func() { closed <- s.WaitHeight(context.Background(), 9) }()
	must(t, s.Close())
	requireIs(t, "a wait when the store is closed", <-closed, ErrClosed)
}

// TestReadersBesideWriters reads while blocks are appended, pruned and rewound: every read is consistent in itself.
func TestReadersBesideWriters(t *testing.T) {
	s, c := newStore(t, Options{Retention: 4}, 6)
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := errors.Join(readConsistently(s), readAccounts(s)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 40 {
		var run []Entry
		for range 1 + i%4 {
			run = append(run, c.next(t, r, r.IntN(8)))
		}
		must(t, appendAll(s, run, i%2 == 0))
		if i%3 == 0 {
			must(t, s.Prune(ctx))
		}
		if i%10 == 9 {
			h := s.Head().Header.Height - 2
			undo, err := s.Rewind(h)
			must(t, err)
			c.rewind(t, h, undo)
		}
	}
	cancel()
	readers.Wait()
	requireSound(t, s)
}

func readConsistently(s *Store) error {
	h := s.Head().Header.Height
	block, err := s.Block(h)
	switch {
	case errors.Is(err, ErrNotFound) || errors.Is(err, ErrPruned): // rewound or pruned since
	case err != nil:
		return err
	default:
		if lists.TransactionsRoot(types.NewTxs(block.Transactions...)) != block.Header.TransactionsRoot {
			return errors.New("a block without its transactions")
		}
	}
	st, err := s.StateAt(s.OldestHeight())
	if errors.Is(err, ErrPruned) {
		return nil
	}
	if err != nil {
		return err
	}
	before, err := balances(st)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	after, err := balances(st)
	if err == nil && before != after {
		err = errors.New("a state changed while it was open")
	}
	return errors.Join(err, st.Close())
}

// readAccounts compares accounts read one by one with the whole state, if no block was added or removed meanwhile.
func readAccounts(s *Store) error {
	head, hash := s.Head().Header.Height, s.HeadHash()
	var each [toyAccounts]state.Account
	for i := range each {
		var err error
		if each[i], err = s.Account(head, toyAccount(i)); errors.Is(err, ErrAboveHead) || errors.Is(err, ErrPruned) {
			return nil // it was reverted, or many blocks were added meanwhile
		} else if err != nil {
			return err
		}
	}
	st, err := s.StateAt(head)
	if errors.Is(err, ErrAboveHead) || errors.Is(err, ErrPruned) {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := balances(st)
	if err == nil && all != each && s.HeadHash() == hash {
		err = fmt.Errorf("accounts at %d: %v, in its state %v", head, each, all)
	}
	return errors.Join(err, st.Close())
}

// balances returns the balances of the genesis accounts.
func balances(st *State) (all [toyAccounts]state.Account, err error) {
	for i := range all {
		row, err := st.Get(state.AccountKey(toyAccount(i)))
		if err != nil {
			return all, err
		}
		if all[i], err = state.DecodeAccount(toyAccount(i), row); err != nil {
			return all, err
		}
	}
	return all, nil
}

func TestWaitHead(t *testing.T) {
	s, c := newStore(t, Options{}, 2)
	must(t, s.WaitHead(context.Background(), types.BlockHash{}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	requireIs(t, "a wait that is given up", s.WaitHead(ctx, s.HeadHash()), context.Canceled)
	wait := func() <-chan error {
		woken, seen := make(chan error, 1), s.HeadHash()
		go func() { woken <- s.WaitHead(context.Background(), seen) }()
		return woken
	}
	woken := wait()
	must(t, s.Append(c.next(t, rand.New(rand.NewPCG(7, 8)), 1)))
	must(t, <-woken)
	woken = wait()
	_, err := s.Rewind(1)
	must(t, err)
	must(t, <-woken)
	woken = wait()
	must(t, s.Close())
	requireIs(t, "a wait when the store is closed", <-woken, ErrClosed)
}
