package chain

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// TestCodesOfKeptBlocks: a store without state keeps exactly the codes that its blocks used, however the pruning of a
// block is cut.
func TestCodesOfKeptBlocks(t *testing.T) {
	s := openStore(t, kv.Memory(), Options{Stateless: true, Retention: 4})
	s.pruneRows = 3
	c := newToyChain(t)
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	r := rand.New(rand.NewPCG(5, 6))
	used := make(map[types.CodeHash]types.Height) // height of the last use
	var kept, dropped int
	for range 80 {
		e := c.next(t, r, 3)
		must(t, s.Append(e))
		for hash := range e.Codes {
			used[hash] = e.Header.Height
		}
		must(t, s.Prune(context.Background()))
		for hash, last := range used {
			_, err := s.Code(hash)
			size, sizeErr := s.CodeSize(hash)
			if last >= s.OldestHeight() {
				kept++
				if err != nil || sizeErr != nil || size < len("code 0") || size > len("code 99") {
					t.Fatalf("at block %d, a code of block %d: %v, size %d, error %v",
						e.Header.Height, last, err, size, sizeErr)
				}
			} else {
				dropped++
				requireIs(t, "a code of a pruned block", errors.Join(err, sizeErr), ErrNotFound)
			}
		}
		requireSound(t, s)
	}
	if kept == 0 || dropped == 0 {
		t.Errorf("codes were there %d times and gone %d times: not all was seen", kept, dropped)
	}
}

// TestCheckFindsFalseCodes corrupts the codes of a store without state.
func TestCheckFindsFalseCodes(t *testing.T) {
	for _, test := range []struct {
		name    string
		corrupt func(b *kv.Batch, hash types.CodeHash, code []byte, since types.Height)
		problem string
	}{
		{"another block", func(b *kv.Batch, hash types.CodeHash, code []byte, since types.Height) {
			b.Set(tableCodeSizes.key(hash[:]), codeSize{since + 1, uint32(len(code))}.encode())
		}, "is recorded as used by block"},
		{"no size", func(b *kv.Batch, hash types.CodeHash, _ []byte, _ types.Height) {
			b.Delete(tableCodeSizes.key(hash[:]))
		}, "has no size"},
		{
			"no code", func(b *kv.Batch, hash types.CodeHash, _ []byte, _ types.Height) { b.Delete(tableCodes.key(hash[:])) },
			"is not there",
		},
		{"another code", func(b *kv.Batch, hash types.CodeHash, code []byte, _ types.Height) {
			b.Set(tableCodes.key(hash[:]), bytes.ToUpper(code))
		}, "has the hash"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openStore(t, kv.Memory(), Options{Stateless: true})
			c := newToyChain(t)
			must(t, s.Init(c.genesis, c.blocks[0].Entry))
			r := rand.New(rand.NewPCG(7, 8))
			e := c.next(t, r, 3)
			for ; len(e.Codes) == 0; e = c.next(t, r, 3) {
				must(t, s.Append(e))
			}
			must(t, s.Append(e))
			requireSound(t, s)
			b := s.db.NewBatch(64)
			for hash, code := range e.Codes {
				test.corrupt(b, hash, code, e.Header.Height)
			}
			must(t, s.commit(b, false))
			report, err := Check(t.Context(), s, nil)
			must(t, err)
			if report.Found == 0 || !strings.Contains(report.Problems[0].What, test.problem) {
				t.Errorf("problems %+v, want one that %q", report.Problems, test.problem)
			}
		})
	}
}
