package chain

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// naiveEvents returns all events of the chain's blocks from oldest on.
func naiveEvents(c *toyChain, oldest types.Height) (events []Event) {
	for _, b := range c.blocks[oldest:] {
		index := uint32(0)
		for i, receipt := range b.Receipts {
			for _, log := range receipt.Logs {
				events = append(events, Event{
					Log: log, Position: Position{b.Header.Height, uint32(i)}, Transaction: b.Transactions[i].ID(), LogIndex: index,
					Block: b.Header.Hash(), Timestamp: b.Header.Timestamp,
				})
				index++
			}
		}
	}
	return events
}

// naiveMatch compares an event with a filter member by member.
func naiveMatch(f EventFilter, in EventRange, e Event) bool {
	if f.Contract != nil && e.Contract != *f.Contract ||
		f.NameHash != nil && sha256.Sum256([]byte(e.Name)) != *f.NameHash ||
		e.Height < *in.From || e.Height > *in.To {
		return false
	}
	for i, topic := range f.Topics {
		if topic != nil && (i >= len(e.Topics) || e.Topics[i] != *topic) {
			return false
		}
	}
	return true
}

// randomFilter selects some attributes of an event, so that something is found, or an attribute that no event has.
func randomFilter(r *rand.Rand, events []Event, oldest, head types.Height) (f EventFilter, in EventRange) {
	in.From, in.To = &oldest, &head
	if r.IntN(3) == 0 {
		in.From = new(oldest + types.Height(r.IntN(int(head-oldest)+1)))
		in.To = new(*in.From + types.Height(r.IntN(4)))
	}
	if r.IntN(2) == 0 {
		in.Work = 1 + r.IntN(20)
	}
	if len(events) == 0 {
		return f, in
	}
	like := events[r.IntN(len(events))]
	if r.IntN(2) == 0 {
		f.Contract = &like.Contract
	}
	if r.IntN(2) == 0 {
		hash := sha256.Sum256([]byte(like.Name))
		f.NameHash = &hash
	}
	for i := range like.Topics {
		if r.IntN(3) == 0 {
			f.Topics[i] = &like.Topics[i]
		}
	}
	if r.IntN(10) == 0 {
		f.Topics[r.IntN(3)] = &[32]byte{31: 9}
	}
	return f, in
}

// requireEvents compares the results of random filters, whole and in pages, with a scan of all events.
func requireEvents(t tester, s *Store, c *toyChain, oldest types.Height, r *rand.Rand) {
	t.Helper()
	all, head := naiveEvents(c, oldest), c.head().Header.Height
	for range 20 {
		f, in := randomFilter(r, all, oldest, head)
		want := slices.DeleteFunc(slices.Clone(all), func(e Event) bool { return !naiveMatch(f, in, e) })
		limit := 1 + r.IntN(5)
		var got []Event
		for complete := false; !complete; {
			page, before := 0, in.After
			end, err := s.Events(context.Background(), f, in, func(e Event) bool {
				got = append(got, e)
				page++
				return page < limit
			})
			must(t, err)
			if before != nil && !end.Complete && end.Reached.Compare(*before) <= 0 {
				t.Fatalf("%+v goes on at %v after %v", f, end.Reached, before)
			}
			complete, in.After = end.Complete, &end.Reached
		}
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v finds %d events in pages of %d, want %d:\n%+v\n%+v", f, len(got), limit, len(want), got, want)
		}
	}
	if oldest > 0 {
		below := oldest - 1
		for _, in := range []EventRange{{From: &below}, {To: &below}, {After: &Position{below, 0}}} {
			if _, err := s.Events(context.Background(), EventFilter{}, in, nil); !errors.Is(err, ErrPruned) {
				t.Fatalf("events of %+v: got %v, want ErrPruned", in, err)
			}
		}
		after := EndOfEvents(below)
		if _, err := s.Events(context.Background(), EventFilter{}, EventRange{After: &after}, func(Event) bool {
			return false
		}); err != nil {
			t.Fatalf("events after all of block %d: got %v, want those of the first kept", below, err)
		}
	}
}

// requireReceipts compares transactions read one by one, and the numbers of their logs, with the blocks.
func requireReceipts(t tester, s *Store, c *toyChain, oldest types.Height, r *rand.Rand) {
	t.Helper()
	for _, b := range c.blocks[oldest:] {
		h, logs := b.Header.Height, uint32(0)
		for i, receipt := range b.Receipts {
			if len(receipt.Logs) == 0 {
				continue
			}
			if first, err := s.FirstLog(Position{h, uint32(i)}); err != nil || first != logs {
				t.Fatalf("block %d, transaction %d: the first log is %d, %v, want %d", h, i, first, err, logs)
			}
			logs += uint32(len(receipt.Logs))
		}
		from, limit := r.IntN(len(b.Receipts)+2), 1+r.IntN(5)
		var got []Included
		must(t, s.TransactionsFrom(Position{h, uint32(from)}, func(i Included) bool {
			got = append(got, i)
			return len(got) < limit
		}))
		if want := max(0, min(limit, len(b.Receipts)-from)); len(got) != want {
			t.Fatalf("block %d from %d on: %d transactions, want %d", h, from, len(got), want)
		}
		for i, found := range got {
			want, err := s.Transaction(Position{h, uint32(from + i)})
			if must(t, err); !reflect.DeepEqual(found, want) {
				t.Fatalf("block %d, %d: got %+v, want %+v", h, from+i, found, want)
			}
		}
	}
}

// The number of a log is found without reading a receipt.
func TestFirstLogReadsNoReceipt(t *testing.T) {
	s, c := newStore(t, Options{}, 30)
	b := s.db.NewBatch(0)
	b.DeleteRange(tableReceipts.bounds())
	must(t, s.db.Commit(b, true))
	again, err := Open(s.db, s.options)
	must(t, err)
	found := 0
	for _, e := range naiveEvents(c, 0) {
		first, err := again.FirstLog(e.Position)
		must(t, err)
		if first > e.LogIndex {
			t.Errorf("block %d, transaction %d: the first log is %d, and %d is of it", e.Height, e.Index, first, e.LogIndex)
		}
		found++
	}
	if found == 0 {
		t.Error("the chain has no events")
	}
	if _, err := again.FirstLog(Position{1, math.MaxUint32}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("of a transaction that has none: got %v, want ErrCorrupt", err)
	}
	must(t, again.Close())
}

// requireContracts compares the list of contracts as a whole, in pages and at earlier heights.
func requireContracts(t tester, s *Store, c *toyChain, limit int) {
	t.Helper()
	var want []Deployment
	for h, b := range c.blocks {
		var made []types.ContractID
		for key := range b.state {
			if isContract([]byte(key)) && h > 0 && c.blocks[h-1].state[key] == nil {
				made = append(made, types.ContractID([]byte(key[1:])))
			}
		}
		slices.SortFunc(made, types.ContractID.Compare)
		for i, id := range made {
			want = append(want, Deployment{Position{b.Header.Height, uint32(i)}, id})
		}
	}
	for h := s.OldestHeight(); h <= s.Head().Header.Height; h++ {
		st, err := s.StateAt(h)
		must(t, err)
		var got []Deployment
		for page := []Deployment{{}}; len(page) > 0; got = append(got, page...) {
			page, err = st.Contracts(page[len(page)-1].Position, limit)
			must(t, err)
		}
		must(t, st.Close())
		then := slices.DeleteFunc(slices.Clone(want), func(d Deployment) bool { return d.Height > h })
		if !slices.Equal(got, then) {
			t.Fatalf("contracts at %d in pages of %d: %v, want %v", h, limit, got, then)
		}
	}
}

// requireHolders compares each token's holders with the sums of all Transfer events.
func requireHolders(t tester, s *Store, c *toyChain, limit int) {
	t.Helper()
	tokens := make(map[types.ContractID]map[types.Account]*big.Int)
	for _, e := range naiveEvents(c, 0) {
		if e.Name != "Transfer" || len(e.Topics) != 3 || new(big.Int).SetBytes(e.Topics[2][:]).BitLen() > 64 {
			continue
		}
		if tokens[e.Contract] == nil {
			tokens[e.Contract] = make(map[types.Account]*big.Int)
		}
		for i, sign := range []int64{-1, 1} {
			sum := tokens[e.Contract][e.Topics[i]]
			if sum == nil {
				sum = new(big.Int)
				tokens[e.Contract][e.Topics[i]] = sum
			}
			amount := new(big.Int).SetUint64(binary.BigEndian.Uint64(e.Topics[2][24:]))
			sum.Add(sum, amount.Mul(amount, big.NewInt(sign)))
		}
	}
	st, err := s.StateAt(s.Head().Header.Height)
	must(t, err)
	for token, sums := range tokens {
		var want []types.Account
		for account, sum := range sums {
			if sum.Sign() != 0 && !account.IsZero() {
				want = append(want, account)
			}
		}
		slices.SortFunc(want, func(a, b types.Account) int {
			if order := sums[b].Cmp(sums[a]); order != 0 {
				return order
			}
			return a.Compare(b)
		})
		var got []types.Account
		var last Rank
		for {
			page, err := st.Holders(token, last, limit)
			must(t, err)
			if len(page) == 0 {
				break
			}
			for _, h := range page {
				got, last = append(got, h.Account), h.Rank
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("holders of %s in pages of %d: %v, want %v", token, limit, got, want)
		}
	}
	must(t, st.Close())
}

// TestTokenSum compares the 128-bit sums and their order with math/big.
func TestTokenSum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var sums []tokenSum
	value := func(s tokenSum) *big.Int {
		v := new(big.Int).Lsh(big.NewInt(int64(s.high)), 64)
		return v.Add(v, new(big.Int).SetUint64(s.low))
	}
	for range 100 {
		s := tokenSum{low: []uint64{1, 1<<64 - 1, r.Uint64()}[r.IntN(3)]}
		for range r.IntN(4) {
			next := tokenSum{low: r.Uint64()}
			sum := new(big.Int).Add(value(s), value(next))
			if s = s.plus(next); value(s).Cmp(sum) != 0 {
				t.Fatalf("%v, want %v", value(s), sum)
			}
			if value(s.negative()).Cmp(sum.Neg(sum)) != 0 {
				t.Fatalf("the negative of %v is %v", value(s), value(s.negative()))
			}
			if r.IntN(2) == 0 {
				s = s.negative()
			}
		}
		sums = append(sums, s)
	}
	for _, a := range sums {
		if back, err := decodeTokenSum(a.appendTo(nil)); err != nil || back != a {
			t.Fatalf("%v decodes as %v, error %v", a, back, err)
		}
		for _, b := range sums {
			if slices.Compare(a.appendTo(nil), b.appendTo(nil)) != value(a).Cmp(value(b)) {
				t.Fatalf("%v and %v sort otherwise than their rows", value(a), value(b))
			}
		}
	}
}

// TestAppendRefusesReasons refuses entries whose reasons do not match the receipts.
func TestAppendRefusesReasons(t *testing.T) {
	s, c := newStore(t, Options{}, 1)
	e := c.next(t, rand.New(rand.NewPCG(1, 1)), 5)
	sound := e.Reasons
	reasons := slices.Clone(sound)
	if reasons[2] = exec.Trap; sound[2] != exec.Success {
		reasons[2] = exec.Success
	}
	for _, wrong := range [][]exec.Reason{nil, reasons, sound[:4]} {
		e.Reasons = wrong
		if err := s.Append(e); !errors.Is(err, ErrBadEntry) {
			t.Errorf("reasons %q: %v, want ErrBadEntry", wrong, err)
		}
	}
	e.Reasons = sound
	must(t, s.Append(e))
}
