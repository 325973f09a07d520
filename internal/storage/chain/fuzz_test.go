package chain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// Every decoder of a row returns ErrCorrupt, or a value that encodes to the row again.

// requireDecoded fails unless a row was refused as damaged, or equals the encoding of its decoded form.
func requireDecoded(t *testing.T, row []byte, err error, encode func() []byte) {
	t.Helper()
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x: %v, want ErrCorrupt", row, err)
		}
		return
	}
	if got := encode(); !bytes.Equal(got, row) {
		t.Errorf("%x decodes to what encodes to %x", row, got)
	}
}

func FuzzDecodeFixedRows(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(encodeHeight(1))
	f.Add(Position{7, 1<<32 - 1}.encode())
	f.Add(historyRow([]byte("key"), 5))
	f.Add(accountRow(types.Account{1}, 5))
	f.Add(make([]byte, 32))
	f.Add(bytes.Repeat([]byte{0xff}, 32))
	f.Fuzz(func(t *testing.T, row []byte) {
		h, err := decodeHeight(row)
		requireDecoded(t, row, err, func() []byte { return encodeHeight(h) })
		p, err := decodePosition(row)
		requireDecoded(t, row, err, p.encode)
		d, err := parseDigest(row)
		requireDecoded(t, row, err, func() []byte { b := d.Bytes(); return b[:] })
		h, err = heightAtEnd(row)
		requireDecoded(t, row, err, func() []byte {
			return binary.BigEndian.AppendUint64(bytes.Clone(row[:len(row)-8]), uint64(h))
		})
	})
}

func FuzzDecodeLongRows(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(encodeIndices([]uint32{0, 1, 1 << 31}))
	f.Add(encodeIndices([]uint32{1, 1}))
	f.Add(leafRow{poseidon.Digest{1}, []byte("key")}.encode())
	f.Add(codeSize{3, 4}.encode())
	f.Add(append(eventPlace{0, 0, 0}.appendTo(nil), eventPlace{1, 2, 3}.appendTo(nil)...))
	f.Add(tokenSum{1 << 63, 1}.appendTo(nil))
	f.Add([]byte(exec.Reverted))
	f.Fuzz(func(t *testing.T, row []byte) {
		indices, err := decodeIndices(row)
		requireDecoded(t, row, err, func() []byte { return encodeIndices(indices) })
		leaf, err := decodeLeafRow(row)
		requireDecoded(t, row, err, leaf.encode)
		known, err := decodeCodeSize(row)
		requireDecoded(t, row, err, known.encode)
		sum, err := decodeTokenSum(row)
		requireDecoded(t, row, err, func() []byte { return sum.appendTo(nil) })
		reason, err := decodeReason(row)
		requireDecoded(t, row, err, func() []byte { return []byte(reason) })
		places, err := decodeEventPlaces(row)
		requireDecoded(t, row, err, func() (again []byte) {
			for _, p := range places {
				again = p.appendTo(again)
			}
			return again
		})
	})
}

func FuzzDecodeRuns(f *testing.F) {
	f.Add([]byte(nil), uint32(0))
	e := codec.NewEncoder(0)
	e.Bytes(types.Receipt{Output: []byte("out")}.Encode())
	e.Bytes(nil)
	e.Bytes([]byte("third"))
	f.Add(e.Data(), uint32(2))
	f.Add(types.EncodeAccesses([]types.Access{{Key: []byte("k"), New: []byte("v")}}), uint32(1))
	f.Fuzz(func(t *testing.T, row []byte, index uint32) {
		items, err := splitItems(nil, row)
		requireDecoded(t, row, err, func() []byte {
			e := codec.NewEncoder(0)
			for _, item := range items {
				e.Bytes(item)
			}
			return e.Data()
		})
		item, itemErr := itemOfRun(tableReceipts.at(1, 0), row, index)
		switch {
		case errors.Is(itemErr, ErrNotFound):
			if err == nil && uint64(index) < uint64(len(items)) {
				t.Errorf("item %d of %d is not found", index, len(items))
			}
		case itemErr != nil:
			if !errors.Is(itemErr, ErrCorrupt) || err == nil {
				t.Errorf("item %d: %v, want %v, but the run: error %v, and an error", index, itemErr, ErrCorrupt, err)
			}
		case err == nil && !bytes.Equal(item, items[index]):
			t.Errorf("item %d is %x, want %x", index, item, items[index])
		}
		receipts, err := itemsDecoder(types.DecodeReceipt)(row)
		requireDecoded(t, row, err, func() []byte {
			e := codec.NewEncoder(0)
			for _, r := range receipts {
				e.Bytes(r.Encode())
			}
			return e.Data()
		})
		accesses, err := decodeRunOfAccesses(row)
		requireDecoded(t, row, err, func() []byte { return types.EncodeAccesses(accesses) })
	})
}

func encodeIndices(indices []uint32) (row []byte) {
	for _, i := range indices {
		row = appendIndex(row, i)
	}
	return row
}
