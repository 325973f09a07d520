package chain

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

// TestModel appends random blocks, prunes, rewinds and reopens, and compares all answers with those found by searching
// all blocks.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		retention := rapid.Uint64Range(0, 4).Draw(t, "retention")
		fs, c := kv.Memory(), newToyChain(t)
		s, stop := openUntil(t, fs, Options{Retention: retention})
		must(t, s.Init(c.genesis, c.blocks[0].Entry))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		oldest := types.Height(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			head := c.head().Header.Height
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				h := types.Height(rapid.Uint64Range(uint64(oldest), uint64(head)).Draw(t, "rewind to"))
				undo, err := s.Rewind(h)
				must(t, err)
				c.rewind(t, h, undo)
			case 1:
				must(t, s.Prune(context.Background()))
				if retention > 0 && uint64(head) > retention {
					oldest = max(oldest, head-types.Height(retention))
				}
			case 2:
				stop()
				s, stop = openUntil(t, fs, Options{Retention: retention})
			default:
				requireAccounts(t, s, head, c.head().state) // this also caches them
				must(t, s.Append(c.next(t, r, rapid.IntRange(0, 12).Draw(t, "transactions"))))
			}
		}
		requireModel(t, s, c, oldest, r)
		requireSound(t, s)
		stop()
	})
}

// requireModel compares a store with the chain, of which the store keeps the blocks from oldest on.
func requireModel(t tester, s *Store, c *toyChain, oldest types.Height, r *rand.Rand) {
	t.Helper()
	head := c.head()
	if s.Head() != head.Signed() || s.HeadHash() != head.Header.Hash() || s.OldestHeight() != oldest {
		t.Fatalf("head %d, oldest %d, want %d, %d", s.Head().Header.Height, s.OldestHeight(), head.Header.Height, oldest)
	}
	for h, b := range c.blocks {
		h := types.Height(h)
		requireBlock(t, s, b, h >= oldest)
		st, err := s.StateAt(h)
		if h < oldest {
			if !errors.Is(err, ErrPruned) {
				t.Fatalf("state %d: %v, want ErrPruned", h, err)
			}
			continue
		}
		must(t, err)
		requireState(t, st, b.state, c)
		requireAccounts(t, s, h, b.state)
		must(t, st.Close())
	}
	requireLists(t, s, c, oldest, r)
	requireEvents(t, s, c, oldest, r)
	requireReceipts(t, s, c, oldest, r)
	requirePayments(t, s, c, oldest, r)
	requireContracts(t, s, c, 1+r.IntN(5))
	requireHolders(t, s, c, 1+r.IntN(5))
	requirePolicies(t, s, c)
}

// requireAccounts compares accounts read one by one, from disk or from memory.
func requireAccounts(t tester, s *Store, h types.Height, want memory) {
	t.Helper()
	for i := range toyAccounts + 1 { // the last does not exist
		record, err := state.DecodeAccount(toyAccount(i), want[string(state.AccountKey(toyAccount(i)))])
		must(t, err)
		for range 2 {
			if got, err := s.Account(h, toyAccount(i)); err != nil || !got.Equal(toyAccount(i), record) {
				t.Fatalf("account %d at %d: %v, %v, want %v", i, h, got, err, record)
			}
		}
	}
}

// requireBlock compares everything that can be read by a block's height or hash, or by a transaction's ID or position.
func requireBlock(t tester, s *Store, b toyBlock, kept bool) {
	t.Helper()
	h := b.Header.Height
	header, err := s.Header(h)
	if kept || h == 0 {
		must(t, err)
		if header != b.Signed() {
			t.Fatalf("header %d: %+v, want %+v", h, header, b.Signed())
		}
	}
	if !kept {
		_, err := s.Block(h)
		if !errors.Is(err, ErrPruned) {
			t.Fatalf("block %d: %v, want ErrPruned", h, err)
		}
		return
	}
	encoded, err := s.EncodedBlock(h)
	must(t, err)
	if encoded.Header != b.Signed() || encoded.Count != len(b.Transactions) ||
		!bytes.Equal(encoded.Bytes, b.block().Encode()) {
		t.Fatalf(
			"block %d in its encoding: %+v, %d transactions, %d bytes", h, encoded.Header, encoded.Count, len(encoded.Bytes),
		)
	}
	block, err := s.Block(h)
	must(t, err)
	receipts, err := s.Receipts(h)
	must(t, err)
	accesses, err := s.Accesses(h)
	must(t, err)
	if !reflect.DeepEqual(block, b.block()) || !reflect.DeepEqual(receipts, b.Receipts) {
		t.Fatalf("block %d: %+v %+v, want %+v %+v", h, block, receipts, b.block(), b.Receipts)
	}
	if types.DigestAccesses(accesses) != types.DigestAccesses(b.Accesses) {
		t.Fatalf("accesses of %d: %x, want %x", h, accesses, b.Accesses)
	}
	if found, err := s.HeightOf(b.Header.Hash()); err != nil || found != h {
		t.Fatalf("height of block %d: got %d, error %v", h, found, err)
	}
	reasons, err := s.Reasons(h)
	if err != nil || !slices.Equal(reasons, b.Reasons) {
		t.Fatalf("reasons of %d: %q, %v, want %q", h, reasons, err, b.Reasons)
	}
	for i, id := range types.IDs(b.Transactions) {
		p, err := s.FindTransaction(id)
		if err != nil || p != (Position{h, uint32(i)}) {
			t.Fatalf("transaction %d of %d is at %v, error %v", i, h, p, err)
		}
		got, err := s.Transaction(p)
		if err != nil || got.Transaction.ID() != id || !reflect.DeepEqual(got.Receipt, b.Receipts[i]) ||
			got.Reason != b.Reasons[i] {
			t.Fatalf("transaction %d of %d: got %+v, error %v", i, h, got, err)
		}
	}
	for hash, code := range b.Codes {
		if got, err := s.Code(hash); err != nil || !slices.Equal(got, code) {
			t.Fatalf("code %s: %q, %v, want %q", hash, got, err, code)
		}
		if size, err := s.CodeSize(hash); err != nil || size != len(code) {
			t.Fatalf("code %s has %d bytes, %v, want %d", hash, size, err, len(code))
		}
	}
}

// requireLists compares the lists of transactions as a whole and in pages.
func requireLists(t tester, s *Store, c *toyChain, oldest types.Height, r *rand.Rand) {
	t.Helper()
	var recent []Position
	byAccount := make(map[types.Account][]Position)
	for i := range toyAccounts {
		byAccount[toyAccount(i)] = nil
	}
	for _, b := range slices.Backward(c.blocks[oldest:]) {
		for i, tx := range slices.Backward(b.block().Transactions) {
			p := Position{b.Header.Height, uint32(i)}
			recent = append(recent, p)
			for account := range naiveAccounts(tx, b.Receipts[i]) {
				byAccount[account] = append(byAccount[account], p)
			}
		}
	}
	limit := 1 + r.IntN(5)
	for _, n := range []int{0, limit, len(recent) + 1} {
		got, err := s.Recent(n)
		if want := recent[:min(n, len(recent))]; err != nil || !slices.Equal(got, want) {
			t.Fatalf("recent %d: %v, %v, want %v", n, got, err, want)
		}
	}
	for account, want := range byAccount {
		all, err := s.ByAccount(account, Position{}, len(want)+1)
		if err != nil || !slices.Equal(all, want) {
			t.Fatalf("account %s: %v, %v, want %v", account, all, err, want)
		}
		var paged []Position
		for page := []Position{{}}; len(page) > 0; paged = append(paged, page...) {
			page, err = s.ByAccount(account, page[len(page)-1], limit)
			must(t, err)
			if len(page) > limit {
				t.Fatalf("a page of %d, limit %d", len(page), limit)
			}
		}
		if !slices.Equal(paged, want) {
			t.Fatalf("account %s in pages of %d: %v, want %v", account, limit, paged, want)
		}
	}
}

// naiveAccounts are the accounts that a transaction concerns.
func naiveAccounts(tx types.SignedTransaction, r types.Receipt) map[types.Account]bool {
	accounts := map[types.Account]bool{tx.Sender: true}
	switch p := tx.Payload.(type) {
	case types.Transfer, types.Call:
		accounts[tx.Target] = true
	case types.Batch:
		for _, step := range p.Steps {
			accounts[step.Target] = true
		}
	}
	if tx.Payer != nil {
		accounts[*tx.Payer] = true
	}
	if r.Contract != nil {
		accounts[types.Account(*r.Contract)] = true
	}
	for _, log := range r.Logs {
		if log.Contract.IsZero() {
			accounts[log.Topics[0]], accounts[log.Topics[1]] = true, true
		}
	}
	return accounts
}

// TestFullBlock has runs of several rows, which reading by position crosses.
func TestFullBlock(t *testing.T) {
	s, c := newStore(t, Options{}, 1)
	r := rand.New(rand.NewPCG(11, 12))
	must(t, s.Append(c.next(t, r, 600)))
	rows := 0
	lower, upper := tableTransactions.heightBounds(2)
	must(t, kv.Scan(s.db, lower, upper, func(_, row []byte) error { rows++; return nil }))
	if rows < 3 || rows > 20 {
		t.Errorf("600 transactions are %d rows", rows)
	}
	requireModel(t, s, c, 0, r)
	requireSound(t, s)
	undo, err := s.Rewind(1)
	must(t, err)
	c.rewind(t, 1, undo)
	requireModel(t, s, c, 0, r)
	requireSound(t, s)
}
