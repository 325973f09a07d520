package chain

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/wake"
	"github.com/cairn-chain/cairn/types"
)

// The errors of a store. [ErrNotFound] covers both blocks, transactions and codes that never existed, and those that
// are named by a hash and were pruned with their block. Only a height distinguishes pruned from absent.
var (
	ErrNotFound      = errors.New("not found")
	ErrPruned        = errors.New("pruned")
	ErrAboveHead     = errors.New("above the head")
	ErrReverted      = errors.New("the block is no longer part of the chain")
	ErrOtherGenesis  = errors.New("the database has a chain with a different genesis")
	ErrOtherSchedule = errors.New("the store was made under another gas schedule")
	ErrOtherFormat   = errors.New("the database has the format of another program version")
	ErrCorrupt       = errors.New("the store is damaged")
	ErrBadEntry      = errors.New("the entry does not continue the chain")
	ErrClosed        = errors.New("the store is closed")
	ErrArchive       = errors.New("the store is an archive, which keeps every block")
	ErrNoArchive     = errors.New("the database is not an archive's: blocks were pruned, and cannot be restored")
	ErrNoState       = errors.New("the store keeps no state")
)

// format is the version of the rows' layout. oldestBlocks is the oldest format whose genesis, blocks and head this
// program can read; a store in such a format can be moved.
const (
	format       = 9
	oldestBlocks = 7
)

// formats lists the earlier formats, each with the first and the last version of the program that read it.
var formats = map[uint32]string{
	1: "0.2.0-dev+594224fb to 0.2.0-dev+94f6f894",
	2: "0.2.0-dev+5f337683 to 0.2.0-dev+826dab14",
	3: "0.2.0-dev+b35d9411 to 0.2.0-dev+0683ab79",
	4: "0.2.0-dev+138d3c1d to 0.2.0-dev+142d6b28",
	5: "0.2.0-dev+bea9033e to 0.2.0-dev+1d1f6e10",
	6: "0.2.0-dev+1142757f to 0.2.0-dev+ab9aac7b",
	7: "0.2.0-dev+08129c81 to 0.2.0-dev+4c6e6caf",
	8: "0.2.0-dev+0337de28 to 0.2.0-dev+0dc98d38",
}

// FormatError is an [ErrOtherFormat] with details of both formats.
type FormatError struct {
	Has, Reads uint32
	Versions   string // first and last program version that read the format; empty if unknown
	Movable    bool   // whether [Options].OlderFormat opens it
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%v: it has %d, this program %d", ErrOtherFormat, e.Has, e.Reads)
}

// Unwrap returns [ErrOtherFormat].
func (e *FormatError) Unwrap() error { return ErrOtherFormat }

// Options configures a store.
type Options struct {
	Retention uint64       // blocks kept behind the head; 0 keeps all. Only [Store.Prune] deletes
	Archive   bool         // makes the store an archive from now on
	Schedule  types.Digest // digest of the program's gas schedule

	// EndArchive turns an archive into an ordinary store. It is applied before all other options.
	EndArchive bool

	WitnessBytes   uint64 // limit on the stored witnesses; 0 keeps none
	SpentWitnesses bool   // keeps the witnesses of proven blocks until [Store.DropSpent]
	// ProofRetention is the number of blocks whose proofs are kept, and of spans of each length; 0 keeps all.
	ProofRetention uint64

	// OnDropped, unless nil, is called for each proof or witness that is dropped because it was found damaged.
	OnDropped func(what string, of types.Height, err error)

	// OlderFormat also opens a store of an older format. Only its genesis, head and blocks can be read.
	OlderFormat bool

	// Stateless makes a new store a stateless one (see [Store.Stateless]). It has no effect on a store that has its
	// genesis.
	Stateless bool
}

// Store is the chain on disk. It is safe for concurrent use: writers take turns, and readers never wait.
type Store struct {
	db      *kv.DB
	options Options

	genesis atomic.Pointer[types.Genesis]
	view    atomic.Pointer[view] // nil once closed
	recent  recentValues
	pruning sync.Mutex   // held by Prune and Rewind throughout; acquired before writing
	writing sync.Mutex   // held from the making of a batch until its view is published
	waiting atomic.Int32 // writers waiting for their turn
	failed  error        // error of a batch that may or may not be on disk; guarded by writing

	dropped atomic.Uint64 // damaged proofs and witnesses
	damaged sync.Map      // their keys → struct{}

	pruneRows int // maximum rows in a batch of pruning
}

// view is the store at one head. A read sees a single view throughout.
type view struct {
	snapshot   *kv.Snapshot
	number     uint64 // counts the store's views
	empty      bool   // the fields below are unset
	stateless  bool
	head       types.SignedHeader
	hash       types.BlockHash
	oldest     types.Height
	halfPruned bool         // some rows of the block before the oldest are left
	refs       atomic.Int64 // readers, plus one for the store while the view is its newest
	superseded wake.Event   // the next view was published
}

// Open opens the store in a database. The caller must close the database, after [Store.Close]. The error is
// [ErrOtherSchedule] for a store made under another gas schedule than the options', [ErrOtherFormat] for one with
// another layout, [ErrArchive] for an archive that the options would prune, and [ErrNoArchive] for a store that should
// be an archive but lacks blocks.
func Open(db *kv.DB, options Options) (*Store, error) {
	s := &Store{db: db, options: options, pruneRows: pruneRows}
	s.recent.seed = maphash.MakeSeed()
	v, err := newView(db, options.OlderFormat)
	if err != nil {
		return nil, err
	}
	if !v.empty {
		genesis, err := s.readMeta(v)
		if err != nil {
			return nil, errors.Join(err, v.release())
		}
		s.genesis.Store(&genesis)
	}
	s.view.Store(v)
	if err := s.openArchive(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openArchive reconciles the store with the options about archives. An empty store becomes an archive in Init.
func (s *Store) openArchive() error {
	v := s.view.Load()
	if v.empty {
		return nil
	}
	archive, err := has(v.snapshot, keyArchive)
	if err == nil && archive && s.options.EndArchive {
		b := s.db.NewBatch(64)
		b.Delete(keyArchive)
		archive, err = false, s.db.Commit(b, true)
	}
	switch {
	case err != nil:
		return err
	case archive && s.options.Retention > 0:
		return ErrArchive
	case !s.options.Archive || archive:
		return nil
	case v.oldest > 0:
		return fmt.Errorf("%w: the oldest left is %d", ErrNoArchive, v.oldest)
	}
	b := s.db.NewBatch(64)
	b.Set(keyArchive, nil)
	return s.db.Commit(b, true)
}

// Archive reports whether the store is an archive, which keeps every block.
func (s *Store) Archive() (bool, error) {
	v, err := s.acquire()
	if err != nil {
		return false, err
	}
	archive, err := has(v.snapshot, keyArchive)
	return archive, errors.Join(err, v.release())
}

// OlderFormat reports whether the store has an older format than this program's. If so, only the data named at
// [Options].OlderFormat can be read.
func (s *Store) OlderFormat() (bool, error) {
	v, err := s.acquire()
	if err != nil {
		return false, err
	}
	row, err := v.snapshot.Get(keyFormat)
	return !bytes.Equal(row, encodeFormat()), errors.Join(err, v.release())
}

// readMeta checks the store's gas schedule and returns its genesis.
func (s *Store) readMeta(v *view) (types.Genesis, error) {
	schedule, err := v.snapshot.Get(keySchedule)
	if err != nil {
		return types.Genesis{}, fmt.Errorf("gas schedule: %w", missing(err))
	}
	if !bytes.Equal(schedule, s.options.Schedule[:]) {
		return types.Genesis{}, fmt.Errorf("%w: the store has %x, this program %s", ErrOtherSchedule, schedule,
			s.options.Schedule)
	}
	row, err := v.snapshot.Get(keyGenesis)
	if err != nil {
		return types.Genesis{}, fmt.Errorf("genesis: %w", missing(err))
	}
	genesis, err := types.DecodeGenesis(row)
	if err != nil {
		return types.Genesis{}, fmt.Errorf("%w: genesis: %w", ErrCorrupt, err)
	}
	return genesis, nil
}

// newView returns a view of the database as it is now.
func newView(db *kv.DB, olderFormat bool) (*view, error) {
	v := &view{snapshot: db.Snapshot()}
	v.refs.Store(1)
	if err := v.load(olderFormat); err != nil {
		return nil, errors.Join(err, v.release())
	}
	return v, nil
}

func (v *view) load(olderFormat bool) error {
	version, err := v.snapshot.Get(keyFormat)
	if errors.Is(err, kv.ErrNotFound) {
		v.empty = true
		return v.checkEmpty()
	}
	if err != nil {
		return err
	}
	if len(version) != 4 {
		return fmt.Errorf("%w: a format of %d bytes", ErrCorrupt, len(version))
	}
	if has := binary.BigEndian.Uint32(version); has != format {
		movable := has >= oldestBlocks && has < format
		if !movable || !olderFormat {
			return &FormatError{Has: has, Reads: format, Versions: formats[has], Movable: movable}
		}
	}
	head, err := v.metaHeight(keyHead)
	if err != nil {
		return err
	}
	switch _, err := v.snapshot.Get(keyStateless); {
	case err == nil:
		v.stateless = true
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	if v.oldest, err = v.metaHeight(keyOldest); err != nil {
		return err
	}
	if v.halfPruned, err = has(v.snapshot, keyHalfPruned); err != nil {
		return err
	}
	if v.head, err = readHeader(v.snapshot, head); err != nil {
		return fmt.Errorf("the head: %w", err)
	}
	if v.head.Header.Height != head || v.oldest > head {
		return fmt.Errorf("%w: head %d, its header says %d, oldest block %d", ErrCorrupt, head, v.head.Header.Height,
			v.oldest)
	}
	v.hash = v.head.Header.Hash()
	return nil
}

// has reports whether a row exists.
func has(r kv.Reader, key []byte) (bool, error) {
	_, err := r.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (v *view) metaHeight(key []byte) (types.Height, error) {
	row, err := v.snapshot.Get(key)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", key[1:], missing(err))
	}
	return decodeHeight(row)
}

// checkEmpty prevents a store from being begun in a database that has rows but no format.
func (v *view) checkEmpty() error {
	return kv.Scan(v.snapshot, nil, nil, func(key, _ []byte) error {
		return fmt.Errorf("%w: there are rows, the first under %x, but no format", ErrCorrupt, key)
	})
}

func encodeFormat() []byte { return binary.BigEndian.AppendUint32(nil, format) }

// acquire returns the newest view for reading. The caller must release it.
func (s *Store) acquire() (*view, error) {
	for {
		v := s.view.Load()
		if v == nil {
			return nil, ErrClosed
		}
		// A view without references has been replaced and released meanwhile.
		if n := v.refs.Load(); n > 0 && v.refs.CompareAndSwap(n, n+1) {
			return v, nil
		}
	}
}

func (v *view) release() error {
	if v.refs.Add(-1) > 0 {
		return nil
	}
	return v.snapshot.Close()
}

// read calls f with the newest view.
func read[T any](s *Store, f func(v *view) (T, error)) (T, error) {
	v, err := s.acquire()
	if err != nil {
		return *new(T), err
	}
	result, err := f(v)
	if releaseErr := v.release(); err == nil {
		err = releaseErr
	}
	return result, err
}

// commit writes a batch and publishes the resulting view. The caller must hold s.writing.
func (s *Store) commit(b *kv.Batch, sync bool) error {
	v, err := s.write(b, s.view.Load(), sync)
	if err != nil {
		return err
	}
	return s.publish(v)
}

// publish makes v, which may be nil, the newest view and wakes the goroutines that wait for it.
func (s *Store) publish(v *view) error {
	before := s.view.Swap(v)
	if before == nil {
		return nil
	}
	before.superseded.Fire()
	return before.release()
}

// lock waits for the caller's turn to write. s.writing.Unlock ends the turn.
func (s *Store) lock() {
	s.waiting.Add(1)
	s.writing.Lock()
	s.waiting.Add(-1)
}

// writable returns the view that the next batch builds on. The caller must hold s.writing, which keeps that view the
// newest.
func (s *Store) writable() (*view, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	v := s.view.Load()
	if v == nil {
		return nil, ErrClosed
	}
	return v, nil
}

// Close ends reading and writing. States in use stay readable until they are closed. They must be closed before the
// database is.
func (s *Store) Close() error {
	s.pruning.Lock()
	defer s.pruning.Unlock()
	s.lock()
	defer s.writing.Unlock()
	return s.publish(nil)
}

// Empty reports whether the store has no chain yet.
func (s *Store) Empty() bool {
	v := s.view.Load()
	return v == nil || v.empty
}

// Head returns the header of the last block, which is on disk. It does not read the disk. For an empty store it returns
// the zero header.
func (s *Store) Head() types.SignedHeader {
	if v := s.view.Load(); v != nil {
		return v.head
	}
	return types.SignedHeader{}
}

// HeadHash returns the hash of the last block, or zero for an empty store.
func (s *Store) HeadHash() types.BlockHash {
	if v := s.view.Load(); v != nil {
		return v.hash
	}
	return types.BlockHash{}
}

// Genesis returns the chain's genesis, or the zero value for an empty store.
func (s *Store) Genesis() types.Genesis {
	if g := s.genesis.Load(); g != nil {
		return *g
	}
	return types.Genesis{}
}

// OldestHeight returns the first height whose block and state are stored.
func (s *Store) OldestHeight() types.Height {
	if v := s.view.Load(); v != nil {
		return v.oldest
	}
	return 0
}

// WaitHeight returns once the head has reached h. It returns ctx's error or [ErrClosed] if that comes first.
func (s *Store) WaitHeight(ctx context.Context, h types.Height) error {
	for {
		v := s.view.Load()
		switch {
		case v == nil:
			return ErrClosed
		case !v.empty && v.head.Header.Height >= h:
			return nil
		}
		if err := v.superseded.Wait(ctx); err != nil {
			return err
		}
	}
}

// WaitHead returns once the head is a block other than the one with the hash seen. It returns ctx's error or
// [ErrClosed] if that comes first. Unlike [Store.WaitHeight] it also returns after a rewind.
func (s *Store) WaitHead(ctx context.Context, seen types.BlockHash) error {
	for {
		v := s.view.Load()
		switch {
		case v == nil:
			return ErrClosed
		case v.hash != seen:
			return nil
		}
		if err := v.superseded.Wait(ctx); err != nil {
			return err
		}
	}
}
