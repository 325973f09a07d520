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
// returns the oldest remaining height.
func (d *Dir) Prune(ctx context.Context) (oldest types.Height, err error) {
	if d.lost != nil {
		return 0, d.lost
	}
	err = d.store.Prune(ctx)
	return d.store.OldestHeight(), err
}

// Blocks is a range of heights, including both ends.
type Blocks struct {
	From types.Height `json:"from"`
	To   types.Height `json:"to"`
}

// ErrBadRange is returned for a range that has none of the blocks.
var ErrBadRange = errors.New("no such block")

// among returns the part of b within the range there. It returns [ErrBadRange] if no block is in both.
func (b Blocks) among(there Blocks) (Blocks, error) {
	if b.From > b.To {
		return b, fmt.Errorf("%w: the first, %d, is after the last, %d", ErrBadRange, b.From, b.To)
	}
	cut := Blocks{max(b.From, there.From), min(b.To, there.To)}
	if cut.From > cut.To {
		return b, fmt.Errorf("%w: requested %d to %d, available are %d to %d", ErrBadRange, b.From, b.To, there.From,
			there.To)
	}
	return cut, nil
}

// Export writes the available blocks of a range, each as its length in 8 little-endian bytes and bincode(Block), and
// returns the range written. progress receives the blocks done and the total.
func (d *Dir) Export(
	ctx context.Context, asked Blocks, w io.Writer, progress func(done, total uint64),
) (written Blocks, err error) {
	written, err = asked.among(Blocks{d.store.OldestHeight(), d.store.Head().Header.Height})
	if err != nil {
		return written, err
	}
	buffered := bufio.NewWriterSize(w, 1<<20)
	total := uint64(written.To-written.From) + 1
	for done := range total {
		if err := ctx.Err(); err != nil {
			return written, err
		}
		block, err := d.store.EncodedBlock(written.From + types.Height(done))
		if err != nil {
			return written, err
		}
		if _, err := buffered.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(block.Bytes)))); err != nil {
			return written, err
		}
		if _, err := buffered.Write(block.Bytes); err != nil {
			return written, err
		}
		progress(done+1, total)
	}
	return written, buffered.Flush()
}

// provable returns the range of blocks that can be proven.
func (d *Dir) provable() Blocks {
	return Blocks{d.store.OldestHeight() + 1, d.store.Head().Header.Height}
}

// Prove proves the available blocks of a range that have no proof, from their stored history. It keeps all new proofs,
// whatever the limit of kept proofs. It returns the range examined and the number of new proofs. progress receives the
// steps done and the total.
func (d *Dir) Prove(
	ctx context.Context, asked Blocks, prover *proving.Prover, progress func(done, total uint64),
) (looked Blocks, made uint64, err error) {
	if d.lost != nil {
		return asked, 0, d.lost
	}
	if looked, err = asked.among(d.provable()); err != nil {
		return looked, 0, err
	}
	from, to := looked.From, looked.To
	queue := proving.NewQueue(d.store, prover.Bits())
	next, err := d.store.WithoutProof(from)
	if errors.Is(err, chain.ErrNotFound) || err == nil && next > to {
		return looked, 0, nil // all are proven
	}
	if err != nil {
		return looked, 0, err
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
	return looked, made, err
}

// ProveRange proves the available blocks of a range as one range, from their history, and verifies the proof. It
// returns the range proven, its encoding and the number of keys in its access list. The state before the first block
// must be stored, and the range may have at most blockproof.MaxRange blocks. ProveRange returns the errors of
// [Dir.Prove].
func (d *Dir) ProveRange(
	ctx context.Context, asked Blocks, prover *proving.Prover, progress func(done, total uint64),
) (proven Blocks, encoded []byte, accesses int, err error) {
	if d.lost != nil {
		return asked, nil, 0, d.lost
	}
	if proven, err = asked.among(d.provable()); err != nil {
		return proven, nil, 0, err
	}
	from, to := proven.From, proven.To
	if to-from >= blockproof.MaxRange {
		return proven, nil, 0, fmt.Errorf("blocks %d to %d exceed the maximum of %d blocks for one range proof", from, to,
			blockproof.MaxRange)
	}
	r, witness, err := ledger.RangeWitness(ctx, d.store, from, to, progress)
	if err != nil {
		return proven, nil, 0, err
	}
	if err := prover.ProveRange(&r, witness); err != nil {
		return proven, nil, 0, fmt.Errorf("cannot prove blocks %d to %d: %w", from, to, err)
	}
	if _, err := r.Verify(prover.Bits(), parallel.Run); err != nil {
		return proven, nil, 0, err
	}
	return proven, r.Encode(), len(r.Accesses), nil
}
