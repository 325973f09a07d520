package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Counts says how many records of each kind a state has.
type Counts struct {
	Accounts, Contracts, StorageEntries uint64
}

// of is the count of a state key's kind, nil of the chain's own records.
func (c *Counts) of(key []byte) *uint64 {
	switch state.Domain(key[0]) {
	case state.DomainAccount:
		return &c.Accounts
	case state.DomainContract:
		return &c.Contracts
	case state.DomainStorage:
		return &c.StorageEntries
	default:
		return nil
	}
}

// write counts what a write adds or removes. Unsigned numbers wrap, so a sum is right whatever the order.
func (c *Counts) write(w types.Access) {
	count := c.of(w.Key)
	switch {
	case count == nil:
	case len(w.Old) == 0 && len(w.New) > 0:
		*count++
	case len(w.Old) > 0 && len(w.New) == 0:
		*count--
	}
}

// after are the counts after a block's writes.
func (c Counts) after(writes []types.Access) Counts {
	for _, w := range writes {
		c.write(w)
	}
	return c
}

func (c Counts) encode() []byte {
	row := binary.BigEndian.AppendUint64(nil, c.Accounts)
	row = binary.BigEndian.AppendUint64(row, c.Contracts)
	return binary.BigEndian.AppendUint64(row, c.StorageEntries)
}

func decodeCounts(row []byte) (c Counts, err error) {
	if len(row) != 3*8 {
		return c, fmt.Errorf("%w: counts of %d bytes", ErrCorrupt, len(row))
	}
	return Counts{
		Accounts:       binary.BigEndian.Uint64(row),
		Contracts:      binary.BigEndian.Uint64(row[8:]),
		StorageEntries: binary.BigEndian.Uint64(row[16:]),
	}, nil
}

func readCounts(r kv.Reader, h types.Height) (Counts, error) {
	row, err := r.Get(tableCounts.atHeight(h))
	if err != nil {
		return Counts{}, fmt.Errorf("counts after block %d: %w", h, missing(err))
	}
	return decodeCounts(row)
}

// putCounts writes what the state after the next block has.
func (v *view) putCounts(b *kv.Batch, h types.Height, writes []types.Access) error {
	if v.stateless {
		return nil
	}
	var before Counts // nothing comes before block 0
	if h > 0 {
		var err error
		if before, err = readCounts(v.snapshot, h-1); err != nil {
			return err
		}
	}
	b.Set(tableCounts.atHeight(h), before.after(writes).encode())
	return nil
}

// Summary returns the header of the block after which the state is, and what the state has. It is [ErrNoState] of a
// store without state.
func (st *State) Summary() (types.SignedHeader, Counts, error) {
	if st.view.stateless {
		return types.SignedHeader{}, Counts{}, ErrNoState
	}
	header, err := readHeader(st.view.snapshot, st.height)
	counts, countsErr := readCounts(st.view.snapshot, st.height)
	return header, counts, errors.Join(err, countsErr)
}

// counts checks the counts of every kept block: of the head against its state, of the others against the writes of the
// blocks above them.
func (c *checker) counts() error {
	want := c.counted
	for h := c.report.Head; ; h-- {
		found, err := readCounts(c.view.snapshot, h)
		if err := c.note(inBlock(h), err); err != nil {
			return err
		}
		if err == nil && found != want {
			c.add(inBlock(h), "the state after it has %+v, %+v is stored", want, found)
		}
		if h == c.report.Oldest {
			return c.ctx.Err()
		}
		accesses, err := readAccesses(c.view.snapshot, h)
		if err != nil { // which the block's own check has noted
			return c.note(allTables[tableCounts], err)
		}
		for _, w := range types.Writes(accesses) {
			w.Old, w.New = w.New, w.Old
			want.write(w)
		}
	}
}
