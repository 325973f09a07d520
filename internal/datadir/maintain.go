package datadir

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Prune deletes the blocks that are further behind the head than the options' retention, with their history, and
// returns the oldest height that is left.
func (d *Dir) Prune(ctx context.Context) (oldest types.Height, err error) {
	if d.lost != nil {
		return 0, d.lost
	}
	err = d.store.Prune(ctx)
	return d.store.OldestHeight(), err
}

// Export writes the blocks from … to, each as its length in 8 little-endian bytes and bincode(Block), and returns how
// many. progress is told of the blocks done and of all there are.
func (d *Dir) Export(
	ctx context.Context, from, to types.Height, w io.Writer, progress func(done, total uint64),
) (count uint64, err error) {
	head := d.store.Head().Header.Height
	to = min(to, head)
	if oldest := d.store.OldestHeight(); from < oldest || from > to {
		return 0, fmt.Errorf("there are blocks %d to %d", oldest, head)
	}
	buffered := bufio.NewWriterSize(w, 1<<20)
	for height := from; height <= to; height++ {
		if err := ctx.Err(); err != nil {
			return count, err
		}
		block, err := d.store.EncodedBlock(height)
		if err != nil {
			return count, err
		}
		if _, err := buffered.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(block.Bytes)))); err != nil {
			return count, err
		}
		if _, err := buffered.Write(block.Bytes); err != nil {
			return count, err
		}
		count++
		progress(count, uint64(to-from)+1)
	}
	return count, buffered.Flush()
}

// Prove proves the blocks from … to that have no proof, by what is kept of their history, and keeps the proofs, of
// however many blocks. A from of 0 is the first that can be proven. It returns how many it made; progress is told of
// the steps done and of all there are.
func (d *Dir) Prove(
	ctx context.Context, from, to types.Height, prover *proving.Prover, progress func(done, total uint64),
) (made uint64, err error) {
	if d.lost != nil {
		return 0, d.lost
	}
	first, head := d.store.OldestHeight()+1, d.store.Head().Header.Height
	to = min(to, head)
	if from == 0 {
		from = first
	}
	if from < first || from > to {
		return 0, fmt.Errorf("blocks %d to %d can be proven", first, head)
	}
	queue := proving.NewQueue(d.store, prover.Bits())
	next, err := d.store.WithoutProof(from)
	if errors.Is(err, chain.ErrNotFound) || err == nil && next > to {
		return 0, nil // all have one
	}
	if err != nil {
		return 0, err
	}
	err = ledger.PastWitnesses(ctx, d.store, next, to, progress, func(
		h types.Height, witness func() (tree.Witness, error),
	) error {
		if h < next {
			return nil
		}
		w, err := witness()
		if err != nil {
			return err
		}
		if err := queue.Make(h, w, prover); err != nil {
			return err
		}
		made++
		if next, err = d.store.WithoutProof(h); errors.Is(err, chain.ErrNotFound) {
			next, err = to+1, nil
		}
		return err
	})
	return made, err
}

// ProveRange proves the blocks from … to as one range, from their history, and verifies it. It returns the encoded
// range and how many keys its list has. The state before the first must be kept, and the range is at most
// blockproof.MaxRange blocks. Its errors are as those of [Dir.Prove].
func (d *Dir) ProveRange(
	ctx context.Context, from, to types.Height, prover *proving.Prover, progress func(done, total uint64),
) (encoded []byte, accesses int, err error) {
	if d.lost != nil {
		return nil, 0, d.lost
	}
	first, head := d.store.OldestHeight()+1, d.store.Head().Header.Height
	if from < first || from > to || to > head || to-from >= blockproof.MaxRange {
		return nil, 0, fmt.Errorf(
			"at most %d of the blocks %d to %d can be proven as one range", blockproof.MaxRange, first, head,
		)
	}
	r, witness, err := ledger.RangeWitness(ctx, d.store, from, to, progress)
	if err != nil {
		return nil, 0, err
	}
	if err := prover.ProveRange(&r, witness); err != nil {
		return nil, 0, fmt.Errorf("blocks %d to %d cannot be proven: %w", from, to, err)
	}
	if _, err := r.Verify(prover.Bits(), parallel.Run); err != nil {
		return nil, 0, err
	}
	return r.Encode(), len(r.Accesses), nil
}
