package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

func noProgress(uint64, uint64) {}

// requireSound fails the test unless a check of the store finds nothing.
func requireSound(t tester, s *chain.Store) {
	t.Helper()
	report, err := chain.Check(context.Background(), s, nil)
	must(t, err)
	if !report.OK() {
		t.Fatalf("%d problems: %q", report.Found, report.Problems)
	}
}

func genesisHash(t tester, s *chain.Store) types.BlockHash {
	t.Helper()
	zero, err := s.Header(0)
	must(t, err)
	return zero.Header.Hash()
}

// A random chain's snapshot makes a sound store with the same state and head, which continues with the same blocks.
func TestRoundtrip(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newTestChain(t, seed)
			for range 1 + c.r.IntN(4) {
				c.grow(blockOf{accounts: c.r.IntN(20), contracts: c.r.IntN(3), storage: c.r.IntN(30), valueBytes: 200})
			}
			parent := t.TempDir()
			m, err := create(t.Context(), c.store, parent, 77, 100+c.r.IntN(4000))
			must(t, err)
			files := os.DirFS(filepath.Join(parent, strconv.FormatUint(uint64(m.Height), 10)))
			trust := Trust{Genesis: genesisHash(t, c.store)}
			if got, err := Verify(t.Context(), files, trust, noProgress); err != nil || got.BlockHash != c.store.HeadHash() {
				t.Fatalf("got %s, want %s, error %v", got.BlockHash, c.store.HeadHash(), err)
			}
			into := openStore(t)
			_, err = Import(t.Context(), files, trust, into, noProgress)
			must(t, err)
			if into.Head() != c.store.Head() || into.OldestHeight() != c.store.Head().Header.Height ||
				into.Genesis().Digest() != c.genesis.Digest() {
				t.Fatalf("the head is %v", into.Head())
			}
			requireState(t, into, c.state)
			if got, want := policiesOf(t, into), policiesOf(t, c.store); !reflect.DeepEqual(got, want) {
				t.Errorf("policies: got %+v, want %+v", got, want)
			}
			requireSound(t, into)
			c.store = into
			c.grow(blockOf{accounts: 5, contracts: 2, storage: 5, valueBytes: 50})
			requireSound(t, into)
		})
	}
}

// Chunks of the default size: none is over 8 MiB, and all of the state's except the last have more than 4.
func TestSizeOfChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	c := newTestChain(t, 1)
	c.grow(blockOf{accounts: 10, contracts: 3})
	c.grow(blockOf{storage: 2300, valueBytes: types.MaxStorageValueBytes})
	dir := t.TempDir()
	m, err := Create(t.Context(), c.store, dir, 1)
	must(t, err)
	runs := 0
	files := os.DirFS(filepath.Join(dir, "2"))
	for i, chunk := range m.Chunks {
		data, err := readFile(files, chunk)
		must(t, err)
		plain, err := decompress(data)
		must(t, err)
		if chunk.Kind == KindState {
			if runs++; m.Chunks[i+1].Kind == KindState && len(plain) < maxChunkBytes/2 {
				t.Errorf("chunk %d has %d bytes decompressed", i, len(plain))
			}
			decoded, err := decodeState(plain)
			must(t, err)
			_, err = decoded.prove(m.StateRoot) // the chunk alone must not prove the root
			must(t, err)
		}
	}
	if runs < 2 {
		t.Errorf("%d chunks of the state", runs)
	}
}

// A snapshot has the state of the head at its beginning, whatever is appended meanwhile.
func TestCreateBesideAppending(t *testing.T) {
	c := newTestChain(t, 2)
	c.grow(blockOf{accounts: 300, contracts: 3, storage: 300, valueBytes: 100})
	want := c.store.Head()
	dir := t.TempDir()
	st, err := c.store.HeadState()
	must(t, err)
	c.grow(blockOf{accounts: 100, storage: 100, valueBytes: 100})
	made, err := newCreator(t.Context(), dir, st, 1000)
	must(t, err)
	m, err := made.create(c.genesis, 1)
	must(t, err)
	must(t, st.Close())
	if m.BlockHash != want.Header.Hash() {
		t.Errorf("it is of block %d", m.Height)
	}
	_, err = Verify(t.Context(), os.DirFS(dir), Trust{}, noProgress)
	must(t, err)
}

func TestCreateRefuses(t *testing.T) {
	c := newTestChain(t, 3)
	dir := t.TempDir()
	_, err := Create(t.Context(), c.store, dir, 1)
	requireIs(t, "block 0", err, ErrNoBlock)
	c.grow(blockOf{accounts: 3})
	_, err = Create(t.Context(), c.store, dir, 1)
	must(t, err)
	_, err = Create(t.Context(), c.store, dir, 1)
	requireIs(t, "a second one", err, ErrExists)
	c.grow(blockOf{accounts: 3})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Create(ended, c.store, dir, 1)
	requireIs(t, "a context that has ended", err, context.Canceled)
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "1" {
		t.Errorf("what is left: got %v", entries)
	}
}
