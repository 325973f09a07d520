package chain

import (
	"bytes"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// TestPiecesAreTheLists: whatever the size of pieces, together they are the encoding of the whole list, of the length
// that the block states.
func TestPiecesAreTheLists(t *testing.T) {
	s, c := newStore(t, Options{}, 12)
	for h, b := range c.blocks {
		measured, err := s.MeasuredBlock(types.Height(h))
		must(t, err)
		block, err := s.EncodedBlock(types.Height(h))
		must(t, err)
		transactions := block.Bytes[types.SignedHeaderBytes+8:]
		accesses := types.EncodeAccesses(b.Accesses)[8:]
		want := Sizes{
			Transactions:     uint32(len(b.Transactions)),
			TransactionBytes: uint32(len(transactions)),
			Accesses:         uint32(len(b.Accesses)),
			AccessBytes:      uint64(len(accesses)),
		}
		if measured.Sizes != want || measured.Header != b.Signed() {
			t.Errorf("block %d: got %+v, want %+v", h, measured, want)
		}
		for _, size := range []int{1, runBytes + 1, 1 << 30} {
			for what, list := range map[string]struct {
				from  func([]byte, types.SignedHeader, uint32, int) ([]byte, uint32, error)
				items uint32
				want  []byte
			}{
				"transactions": {s.TransactionPiece, want.Transactions, transactions},
				"accesses":     {s.AccessPiece, want.Accesses, accesses},
			} {
				var got []byte
				for at := uint32(0); at < list.items; {
					piece, next, err := list.from([]byte("before"), measured.Header, at, size)
					must(t, err)
					if next <= at {
						t.Fatalf("block %d, %s: got a piece from %d to %d, want a later end", h, what, at, next)
					}
					got, at = append(got, bytes.TrimPrefix(piece, []byte("before"))...), next
				}
				if !bytes.Equal(got, list.want) {
					t.Errorf("block %d, %s in pieces of %d: got %d bytes, want others: %d", h, what, size, len(got), len(list.want))
				}
			}
		}
	}
	other := c.blocks[3].Signed()
	other.Header.Timestamp++
	_, _, err := s.TransactionPiece(nil, other, 0, 1)
	requireIs(t, "a piece of a block that is another one by now", err, ErrReverted)
	_, err = s.MeasuredBlock(13)
	requireIs(t, "the sizes of a block above the head", err, ErrNotFound)
}

// TestHasProof predicts the result of Proof without reading the proof.
func TestHasProof(t *testing.T) {
	s, _ := newStore(t, Options{}, 3)
	must(t, s.PutProof(2, []byte("proof")))
	for h := range types.Height(6) {
		_, err := s.Proof(h)
		got, hasErr := s.HasProof(h)
		must(t, hasErr)
		if want := err == nil; got != want {
			t.Errorf("block %d: got %t, want %t", h, got, want)
		}
	}
}
