package blockproof

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// deep is a batch of accesses to absent paths, each of which agrees with a leaf's in its first 60 bits; some write, and
// some of the leaves are deleted.
func deep(accesses int) *batch {
	r := newRandom(77)
	b := newBatch(model{})
	for i := range accesses {
		there := r.digest()
		absent := there
		absent[1] ^= 1 << 1
		b.before[there] = r.digest()
		if b.read(absent); i%7 == 3 {
			b.write(absent, r.digest())
		}
		if i%11 == 5 {
			b.write(there, poseidon.Digest{})
		}
	}
	return b
}

// TestPositionsAtOnce: of many positions only a few are in memory at a time, and the segments equal those made with all
// of them in memory.
func TestPositionsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := deep(1500)
	w := b.witness()
	few := size{rows: 4000, entries: maxEntries, unit: 16, open: 4000}
	all := few
	all.unit, all.open = len(b.list), 1<<20
	bounded, err := newTrie(b.entries(), w, few, InOrder)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := newTrie(b.entries(), w, all, InOrder)
	if err != nil {
		t.Fatal(err)
	}
	cuts := bounded.cuts()
	for i, low := range cuts[:len(cuts)-1] {
		got, want := bounded.emit(low, cuts[i+1]), whole.emit(low, cuts[i+1])
		if got.err != nil || want.err != nil {
			t.Fatal(got.err, want.err)
		}
		if !reflect.DeepEqual(got.part, want.part) || !slices.Equal(got.rows, want.rows) {
			t.Errorf("segment %d of %d differs", i, len(cuts)-1)
		}
	}
	total, most := whole.kept.size+whole.opened.size, bounded.kept.size+positionsPerChunk*len(bounded.opened.chunks)
	if total < 70_000 || most > 10_000 {
		t.Errorf("%d of %d positions were there at a time", most, total)
	}
	if size := unsafe.Sizeof(position{}); size > 64 {
		t.Errorf("a position takes %d bytes", size)
	}
	t.Logf("%d segments, at most %d of %d positions at a time", len(cuts)-1, most, total)
}
