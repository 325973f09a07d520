package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Counts holds the number of records of each kind in a state.
type Counts struct {
	Accounts, Contracts, StorageEntries uint64
}

// of returns the counter for a state key's kind, or nil for the chain's own records.
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

// write counts a write that adds or removes a record. Unsigned counters wrap around, so the order of writes does not
// matter.
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

// after returns the counts after a block's writes.
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

// putCounts writes the counts of the state after the next block.
func (v *view) putCounts(b *kv.Batch, h types.Height, writes []types.Access) error {
	if v.stateless {
		return nil
	}
	var before Counts // block 0 has no earlier state
	if h > 0 {
		var err error
		if before, err = readCounts(v.snapshot, h-1); err != nil {
			return err
		}
	}
	b.Set(tableCounts.atHeight(h), before.after(writes).encode())
	return nil
}

// Summary returns the header of the state's block, and the counts of its records. For a stateless store it returns
// [ErrNoState].
func (st *State) Summary() (types.SignedHeader, Counts, error) {
	if st.view.stateless {
		return types.SignedHeader{}, Counts{}, ErrNoState
	}
	header, err := readHeader(st.view.snapshot, st.height)
	counts, countsErr := readCounts(st.view.snapshot, st.height)
	return header, counts, errors.Join(err, countsErr)
}

// counts checks the counts of every stored block: the head's against its state, the others' against the writes of the
// blocks above them.
func (c *checker) counts() error {
	want := c.counted
	for h := c.report.Head; ; h-- {
		found, err := readCounts(c.view.snapshot, h)
		if err := c.note(inBlock(h), err); err != nil {
			return err
		}
		if err == nil && found != want {
			c.add(inBlock(h), "the state after it has %+v, but %+v is stored", want, found)
		}
		if h == c.report.Oldest {
			return c.ctx.Err()
		}
		accesses, err := readAccesses(c.view.snapshot, h)
		if err != nil { // already recorded by the block's own check
			return c.note(allTables[tableCounts], err)
		}
		for _, w := range types.Writes(accesses) {
			w.Old, w.New = w.New, w.Old
			want.write(w)
		}
	}
}
