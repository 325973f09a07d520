package replica

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// strange are ranges that no honest node offers.
var strange = []Ranges{
	{0, 0, 0}, {0, 1, 20}, {1, 1, 20}, {3, 1, 3}, {1 << 63, 1, 1 << 63}, {8192, 1, 8192}, {4, 2, 8}, {4, 1, 9}, {4, 9, 8},
	{8, 1, 1<<56 | 8}, {8, math.MaxUint64 - 7, 8}, {16, math.MaxUint64 - 14, math.MaxUint64}, {8, 0, math.MaxUint64},
}

// TestBelievesRangesThatCanBe has a source claim arbitrary ranges, of any length.
func TestBelievesRangesThatCanBe(t *testing.T) {
	good := []Ranges{{2, 1, 20}, {4, 5, 16}}
	source := &faultySource{evidence: evidence{ranges: append(slices.Clone(strange), good[1], good[0])}}
	for range 10_000 {
		source.ranges = append(source.ranges, good[1])
	}
	if believed, err := requestRanges(t.Context(), source); err != nil || !slices.Equal(believed, good) {
		t.Errorf("%v are believed, error %v", believed, err)
	}
}

// rangeKeeper wants all ranges of four blocks until they are kept.
type rangeKeeper struct {
	newest types.Height

	mu           sync.Mutex // guards the fields below
	kept         []blockproof.Span
	asked        int
	refuse       blockproof.Span
	mostAtATime  int
	strangeAsked bool
}

func (k *rangeKeeper) Wanted(log int, oldest, newest types.Height) (list []blockproof.Span, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	k.strangeAsked = k.strangeAsked || log != 2
	for last := types.Height(4); last <= min(newest, k.newest); last += 4 {
		span := blockproof.NewSpan(last, 2)
		if span.First() >= oldest && !slices.Contains(k.kept, span) && len(list) < k.mostAtATime {
			list = append(list, span)
		}
	}
	return list, nil
}

func (k *rangeKeeper) KeepRange(span blockproof.Span, _ []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if span == k.refuse {
		return fmt.Errorf("%w: the test", blockproof.ErrProof)
	}
	k.kept = append(k.kept, span)
	return nil
}

// TestRelaysRanges has an upstream make many impossible claims, lack the oldest ranges and lie about one. The other
// ranges are accepted, none of them longer than its blocks' gas allows.
func TestRelaysRanges(t *testing.T) {
	in(t, 40, 1, func(f *fixture) {
		f.sources[0].ranges = append(slices.Clone(strange), Ranges{4, 1, 40})
		f.sources[0].proof = func(_ context.Context, first, last types.Height, limit int64) ([]byte, error) {
			if bits.OnesCount64(uint64(last-first+1)) != 1 || last%4 != 0 || limit > 1<<22 {
				t.Errorf("%d bytes of blocks %d to %d are asked for", limit, first, last)
			}
			if last <= 16 {
				return nil, ErrNoRange
			}
			return []byte("range"), nil
		}
		f.start()
		f.pass(10 * time.Second)
		f.synced()
		k := &rangeKeeper{newest: 40, refuse: blockproof.NewSpan(24, 2), mostAtATime: 2}
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.RelayRanges(ctx, k) }()
		f.pass(20 * relayPause)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v, want %v", err, context.Canceled)
		}
		var want []blockproof.Span
		for _, last := range []types.Height{20, 28, 32, 36, 40} {
			want = append(want, blockproof.NewSpan(last, 2))
		}
		if !slices.Equal(k.kept, want) || k.strangeAsked || k.asked > 41 || f.faults(0, Lied) == 0 {
			t.Errorf("kept %x, asked %d times, %t, faults %v", k.kept, k.asked, k.strangeAsked, f.Status().Upstreams)
		}
	})
}

// openStateless opens a chain without state in memory.
func openStateless(t *testing.T) *ledger.Stateless {
	t.Helper()
	store := testchain.Store(t, chain.Options{Stateless: true})
	g := testGenesis()
	l, err := ledger.OpenStateless(store, &g, nil, nil, 100)
	check(t, err)
	return l
}

// receive returns blocks as they arrive.
func receive(t *testing.T, l *ledger.Ledger, first, last types.Height) []*ledger.Received {
	t.Helper()
	var encoded [][]byte
	for h := first; h <= last; h++ {
		block, err := l.Store().Block(h)
		check(t, err)
		encoded = append(encoded, block.Encode())
	}
	blocks, err := ledger.ReceiveAll(types.Regtest, encoded)
	check(t, err)
	return blocks
}

// TestGathers: the replica waits for the blocks of a range that a source has while these can still form one. It does
// not wait for a range that the source merely claims.
func TestGathers(t *testing.T) {
	primary := openChain(t, testGenesis())
	extend(t, primary, 8)
	genesis := testGenesis()
	genesis.Parameters.Producer = testchain.Key("stranger").PublicKey()
	stranger := openChain(t, genesis)
	for range 8 {
		_, err := stranger.Build(emptyBatch(stranger.Tip().Header.Header.Timestamp+1), sealedBy(testchain.Key("stranger")))
		check(t, err)
	}
	ours, theirs := receive(t, primary, 1, 8), receive(t, stranger, 1, 8)
	for _, test := range []struct {
		name   string
		ranges []Ranges
		blocks []*ledger.Received
		newest types.Height
		waits  bool
	}{
		{"one block", []Ranges{{4, 1, 8}}, ours[:1], 8, true},
		{"three blocks", []Ranges{{4, 1, 8}}, ours[:3], 8, true},
		{"all blocks", []Ranges{{4, 1, 8}}, ours[:4], 8, false},
		{"the larger of two", []Ranges{{4, 1, 8}, {8, 1, 8}}, ours[:4], 8, true},
		{"no ranges", nil, ours[:1], 8, false},
		{"ranges that cannot be", strange, ours[:1], 8, false},
		{"more blocks than there are", []Ranges{{4096, 1, 4096}}, ours[:1], 8, false},
		{"blocks of a stranger", []Ranges{{4096, 1, 4096}}, theirs[:1], 5_000, false},
		{"a stranger's after ours", []Ranges{{4096, 1, 4096}}, append(ours[:1:1], theirs[1]), 5_000, false},
		{"one left out", []Ranges{{4096, 1, 4096}}, append(ours[:1:1], ours[2]), 5_000, false},
	} {
		importer := Stateless(openStateless(t), true)
		source := &faultySource{evidence: evidence{ranges: test.ranges}}
		if waits := importer.Gather(t.Context(), source, test.blocks, test.newest); waits != test.waits {
			t.Errorf("%s: got %t, want %t", test.name, waits, test.waits)
		}
	}
	source := &faultySource{evidence: evidence{ranges: []Ranges{{4, 1, 8}}}}
	if Stateless(openStateless(t), false).Gather(t.Context(), source, ours[:1], 8) {
		t.Error("blocks that are not imported together are waited for")
	}
}
