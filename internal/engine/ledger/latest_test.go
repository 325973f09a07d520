package ledger

import (
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// TestLatestIsTheStoresHead reads between the two steps of publishing a new head: the store's readers see it already,
// and the tip is still the block before.
func TestLatestIsTheStoresHead(t *testing.T) {
	store, db := openStore(t, kv.NewCrashDisk())
	defer closeStore(t, store, db)
	g := testGenesis(t)
	l, err := Open(store, &g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := l.Tip()
	build(t, l)
	after := l.Tip()
	l.tip.Store(before)
	got, err := l.Latest()
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash != after.Hash || !sameTip(got, after) {
		t.Errorf("the latest block: got %d %s, want %d %s", got.Header.Header.Height, got.Hash, after.Header.Header.Height,
			after.Hash)
	}
}
