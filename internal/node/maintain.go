package node

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Report is what [CheckDatabase] looked at and found.
type Report = chain.Report

// CheckDatabase recomputes roots, digests and every index from what a data directory stores. The node must not run on
// it. progress is told of the rows done and of all there are.
func CheckDatabase(ctx context.Context, dir string, progress func(done, total uint64)) (report Report, err error) {
	err = withStore(dir, 0, func(store *chain.Store) error {
		report, err = chain.Check(ctx, store, progress)
		return err
	})
	return report, err
}

// PruneDatabase deletes the blocks that are further than keep behind the head, with their history, and returns the
// oldest height that is left. An archive is none any more after it; unless endArchive is set it is refused with
// [chain.ErrArchive].
func PruneDatabase(ctx context.Context, dir string, keep uint64, endArchive bool) (oldest types.Height, err error) {
	if endArchive {
		if err := withStore(dir, 0, (*chain.Store).EndArchive); err != nil {
			return 0, err
		}
	}
	err = withStore(dir, keep, func(store *chain.Store) error {
		err := store.Prune(ctx)
		oldest = store.OldestHeight()
		return err
	})
	return oldest, err
}

// ExportBlocks writes the blocks from … to, each as its length in 8 little-endian bytes and bincode(Block), and returns
// how many. progress is told of the blocks done and of all there are.
func ExportBlocks(ctx context.Context, dir string, from, to types.Height, w io.Writer, progress func(done, total uint64)) (count uint64, err error) {
	err = withStore(dir, 0, func(store *chain.Store) error {
		head := store.Head().Header.Height
		to = min(to, head)
		if oldest := store.OldestHeight(); from < oldest || from > to {
			return fmt.Errorf("there are blocks %d to %d", oldest, head)
		}
		buffered := bufio.NewWriterSize(w, 1<<20)
		for height := from; height <= to; height++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			block, err := store.EncodedBlock(height)
			if err != nil {
				return err
			}
			if _, err := buffered.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(block.Bytes)))); err != nil {
				return err
			}
			if _, err := buffered.Write(block.Bytes); err != nil {
				return err
			}
			count++
			progress(count, uint64(to-from)+1)
		}
		return buffered.Flush()
	})
	return count, err
}

// ProveDatabase proves the blocks from … to of a data directory that have no proof, by what is kept of their history, and
// keeps the proofs, of however many blocks; from 0 is the first that can be. It returns how many it made; progress is told
// of the steps done and of all there are.
func ProveDatabase(ctx context.Context, dir string, from, to types.Height, prover *proving.Prover, progress func(done, total uint64)) (made uint64, err error) {
	err = withStore(dir, 0, func(store *chain.Store) error {
		first, head := store.OldestHeight()+1, store.Head().Header.Height
		from, to := from, min(to, head)
		if from == 0 {
			from = first
		}
		if from < first || from > to {
			return fmt.Errorf("blocks %d to %d can be proven", first, head)
		}
		queue := proving.NewQueue(store, prover.Bits())
		next, err := store.WithoutProof(from)
		if errors.Is(err, chain.ErrNotFound) || err == nil && next > to {
			return nil // all have one
		}
		if err != nil {
			return err
		}
		return ledger.PastWitnesses(ctx, store, next, to, progress, func(h types.Height, witness func() (tree.Witness, error)) error {
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
			if next, err = store.WithoutProof(h); errors.Is(err, chain.ErrNotFound) {
				next, err = to+1, nil
			}
			return err
		})
	})
	return made, err
}

// ErrArchive is the error of an archive that is to be pruned.
var ErrArchive = chain.ErrArchive

// ErrNoChain is the error of a data directory without a chain.
var ErrNoChain = errors.New("there is no chain in this data directory")

// withStore opens the chain of a data directory for one piece of work.
func withStore(dir string, retention uint64, work func(*chain.Store) error) (err error) {
	genesis, err := StoredGenesis(dir)
	if err != nil {
		return err
	}
	if genesis == nil {
		return fmt.Errorf("%w: %s", ErrNoChain, dir)
	}
	db, err := OpenDatabase(dir, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := chain.Open(db, chain.Options{Retention: retention, Schedule: params.Schedule1.Digest()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return work(store)
}
