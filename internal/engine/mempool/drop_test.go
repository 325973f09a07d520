package mempool

import (
	"errors"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// A dropped transaction does not come back after a restart, even from a journal that was never rewritten, unless it was
// sent again after the drop.
func TestDroppedStaysDropped(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t)}
	p := openPool(t, c, opts)
	ids := addRun(t, p, 1, 0, 3)
	other := add(t, p, transfer(2, 0, 100, 5))
	again := add(t, p, transfer(3, 0, 100, 5))
	for _, id := range []types.TxID{ids[1], other, again, again} {
		if err := p.Drop(id); err != nil {
			t.Fatal(err)
		}
	}
	add(t, p, transfer(3, 0, 100, 5))
	want := contents(p)
	if len(want) != 3 || want[ids[2]].Executable {
		t.Fatalf("pending are %v", want)
	}
	for range 2 {
		if got := contents(openCopy(t, c, opts.Journal, Options{})); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p = openPool(t, c, opts)
	}
}

// A journal that is cut anywhere while transactions are accepted and dropped restores the pending transactions of some
// moment in it.
func TestTornJournalWithDrops(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t)}
	p := openPool(t, c, opts)
	moments := []map[types.TxID]Pending{contents(p)}
	for nonce := range uint64(4) {
		id := add(t, p, transfer(1, nonce, 100, 5))
		moments = append(moments, contents(p))
		if nonce%2 == 1 {
			if err := p.Drop(id); err != nil {
				t.Fatal(err)
			}
			moments = append(moments, contents(p))
			add(t, p, transfer(1, nonce, 100, 6))
			moments = append(moments, contents(p))
		}
	}
	whole, err := os.ReadFile(opts.Journal)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for size := len("cairn journal 2\n"); size <= len(whole); size = min(size+29, max(len(whole), size+1)) {
		got := contents(openImage(t, c, whole[:size], Options{}))
		at := slices.IndexFunc(moments[last:], func(m map[types.TxID]Pending) bool { return maps.Equal(m, got) })
		if at < 0 {
			t.Fatalf("cut at %d: got %v, none of the moments from %d on", size, got, last)
		}
		last += at
	}
	if last != len(moments)-1 {
		t.Fatalf("the whole journal gives moment %d of %d", last, len(moments)-1)
	}
}

// A drop that cannot be written is reported, but takes effect in the pool.
func TestDropWithoutDisk(t *testing.T) {
	c, fs := newChain(), newFaultyFS()
	p := openPool(t, c, Options{Journal: journalPath(t), FS: fs})
	id := add(t, p, transfer(1, 0, 100, 5))
	fs.set("write")
	if err := p.Drop(id); !errors.Is(err, errFault) {
		t.Errorf("got %v", err)
	}
	if _, pending := p.Get(id); pending {
		t.Error("it is pending")
	}
}

// The pool refuses and counts transactions that are set aside; those accepted before stay.
func TestAdmit(t *testing.T) {
	c := newChain()
	var refusal error
	p := openPool(t, c, Options{Admit: func(tx *types.Transaction) error {
		if tx.Sender == account(1) {
			return refusal
		}
		return nil
	}})
	add(t, p, transfer(1, 0, 100, 5))
	refusal = ErrSetAside
	refuse(t, p, transfer(1, 1, 100, 5), ErrSetAside)
	add(t, p, transfer(2, 0, 100, 5))
	if s := p.Stats(); s.Refused["set_aside"] != 1 || s.Count != 2 {
		t.Errorf("the pool has %+v", s)
	}
}

func TestDecodeRecord(t *testing.T) {
	id := types.TxID{1, 2, 3}
	for name, payload := range map[string][]byte{
		"empty":           nil,
		"a kind alone":    {recordTaken},
		"a short time":    make([]byte, recordPrefix-1),
		"an unknown kind": append([]byte{recordPosition + 1}, id[:]...),
		"a short ID":      encodeDropped(id)[:32],
		"a long ID":       append(encodeDropped(id), 0),
		"a long position": append(logged{}.encode(), 0),
	} {
		if r, ok := decodeRecord(payload); ok {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	if r, ok := decodeRecord(encodeDropped(id)); !ok || *r.dropped != id {
		t.Errorf("got %+v, %v", r, ok)
	}
	at := logged{[16]byte{1}, Position{Index: 2, Height: 3}}
	if r, ok := decodeRecord(at.encode()); !ok || *r.at != at {
		t.Errorf("got %+v, %v", r, ok)
	}
}

// Skipped senders return in the next round, by their fees, with all their remaining transactions.
func TestBestLater(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	first, second, third := addRun(t, p, 1, 0, 2), addRun(t, p, 2, 0, 2), addRun(t, p, 3, 0, 1)
	b := p.Best(testBaseFee)
	round := map[types.TxID]int{first[0]: 2, second[1]: 1, third[0]: 1}
	var got []types.TxID
	for tx := b.Next(); tx != nil; tx = b.Next() {
		if round[tx.ID()] > b.Round() {
			b.Later(round[tx.ID()])
			b.Later(1) // no effect: Next returned nothing since
			continue
		}
		got = append(got, tx.ID())
	}
	want := []types.TxID{second[0], second[1], third[0], first[0], first[1]}
	if !slices.Equal(got, want) || b.Next() != nil {
		t.Errorf("got %v, want %v", got, want)
	}
}
