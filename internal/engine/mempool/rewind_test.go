package mempool

import (
	"errors"
	"maps"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
)

// After a rewind the pool forgets later transactions. Neither they nor those included since come back from the journal.
func TestForget(t *testing.T) {
	c := newChain()
	files := newFaultyFS()
	opts := Options{Journal: journalPath(t), FS: files}
	p := openPool(t, c, opts)
	addRun(t, p, 1, 0, 3)
	add(t, p, transfer(2, 0, 100, 5))
	add(t, p, transfer(3, 1, 100, 5)) // held
	arrivals := p.Arrivals()
	reset(t, p, c, map[int]state.Account{2: {Balance: rich, Nonce: 1}}) // includes it
	want := contents(p)
	add(t, p, transfer(3, 0, 100, 5)) // makes the held one executable
	addRun(t, p, 4, 0, 4)
	add(t, p, transfer(1, 3, 100, 5))

	files.set("write")
	if err := p.Forget(arrivals); !errors.Is(err, errFault) {
		t.Errorf("the journal is not written: %v", err)
	}
	files.set("")
	if err := p.Forget(arrivals); err != nil {
		t.Fatal(err)
	}
	c.height--
	c.set(2, rich, 0)
	if err := p.Reload(c.head()); err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, p)
	if got := contents(p); !maps.Equal(got, want) {
		t.Errorf("pending are %v, want %v", got, want)
	}
	if got := contents(openCopy(t, c, opts.Journal, Options{})); !maps.Equal(got, want) {
		t.Errorf("after a start %v, want %v", got, want)
	}
}
