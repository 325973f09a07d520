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
	"github.com/cairn-chain/cairn/types"
)

// What a store answers instead of a result. A block, transaction or code that was never there and one named by a hash
// that was pruned with its block are both [ErrNotFound]. Only a height tells pruned from absent.
var (
	ErrNotFound      = errors.New("not found")
	ErrPruned        = errors.New("pruned")
	ErrAboveHead     = errors.New("above the head")
	ErrReverted      = errors.New("the block is not of the chain any more")
	ErrOtherGenesis  = errors.New("the store holds a chain of another genesis")
	ErrOtherSchedule = errors.New("the store was made under another gas schedule")
	ErrOtherFormat   = errors.New("the store's format is of another version of the program")
	ErrCorrupt       = errors.New("the store is damaged")
	ErrBadEntry      = errors.New("the entry does not continue the chain")
	ErrClosed        = errors.New("the store is closed")
	ErrArchive       = errors.New("the store is an archive, which keeps every block")
	ErrNoArchive     = errors.New("the store is no archive: blocks were pruned, and cannot be had back")
	ErrNoState       = errors.New("the store keeps no state")
)

// format is the version of the rows' layout, and oldestBlocks the oldest format whose genesis, blocks and head this
// program reads: a store of it can be moved.
const (
	format       = 6
	oldestBlocks = 6
)

// formats are the formats before this one, each with the first and the last version of the program that read it.
var formats = map[uint32]string{
	1: "0.2.0-dev+594224fb to 0.2.0-dev+94f6f894",
	2: "0.2.0-dev+5f337683 to 0.2.0-dev+826dab14",
	3: "0.2.0-dev+b35d9411 to 0.2.0-dev+0683ab79",
	4: "0.2.0-dev+138d3c1d to 0.2.0-dev+142d6b28",
	5: "0.2.0-dev+bea9033e to 0.2.0-dev+1d1f6e10",
}

// FormatError is [ErrOtherFormat] with what there is to say of both formats.
type FormatError struct {
	Has, Reads uint32
	Versions   string // of the program that read the format, the first and the last; empty if they are not known
	Movable    bool   // [Options].OlderFormat opens it
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%v: it has %d, this program %d", ErrOtherFormat, e.Has, e.Reads)
}

// Unwrap returns [ErrOtherFormat].
func (e *FormatError) Unwrap() error { return ErrOtherFormat }

// Options of a store.
type Options struct {
	Retention uint64       // blocks kept behind the head; 0 keeps all. Only [Store.Prune] deletes
	Archive   bool         // the store is to be an archive from now on
	Schedule  types.Digest // of the gas schedule that the program knows

	// EndArchive makes an archive a store like any other. It goes before all else that the options say.
	EndArchive bool

	WitnessBytes   uint64 // of witnesses of blocks that wait for a proof that are kept at most; 0 keeps none
	SpentWitnesses bool   // those of proven blocks are kept, until [Store.DropSpent]
	// ProofRetention is how many blocks have their proofs kept, and of how many spans of each length; 0: all that are.
	ProofRetention uint64

	// OnDropped, unless nil, is told of a proof or a witness that was dropped because reading it found it damaged.
	OnDropped func(what string, of types.Height, err error)

	// OlderFormat opens a store of an older format, too, of which only the genesis, the head and the blocks can be read.
	OlderFormat bool

	// Stateless begins a store without state: [Store.Stateless]. It says nothing of one that has its genesis.
	Stateless bool
}

// Store is the chain on disk. It is safe for concurrent use: writers take turns, readers wait for nobody.
type Store struct {
	db      *kv.DB
	options Options

	genesis atomic.Pointer[types.Genesis]
	view    atomic.Pointer[view] // nil once closed
	recent  recentValues
	pruning sync.Mutex   // held by Prune and Rewind as a whole; taken before writing
	writing sync.Mutex   // held from a batch's making to its view's publication
	waiting atomic.Int32 // writers that wait for their turn
	failed  error        // of a batch whose fate is unknown; under writing

	dropped atomic.Uint64 // damaged proofs and witnesses
	damaged sync.Map      // their keys → struct{}

	pruneRows int // rows that a batch of pruning deletes at most
}

// view is the store at one head: what every read sees from its first row to its last.
type view struct {
	snapshot   *kv.Snapshot
	number     uint64 // of all views of the store, in their order
	empty      bool   // nothing below is set
	stateless  bool
	head       types.SignedHeader
	hash       types.BlockHash
	oldest     types.Height
	halfPruned bool          // some rows of the block before the oldest are left
	refs       atomic.Int64  // readers, and the store while the view is its newest
	superseded chan struct{} // closed when the next view is there
}

// Open opens the store in a database, which stays the caller's to close, after [Store.Close]. It returns
// [ErrOtherSchedule] for a store that was made under another gas schedule than the options', and [ErrOtherFormat] for
// one of another layout. [ErrArchive] is for an archive that the options would prune, and [ErrNoArchive] for a store
// without all blocks that should be an archive.
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

// openArchive holds the store and the options to what each says of an archive. An empty store becomes one in Init.
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

// Archive tells whether the store is to keep every block.
func (s *Store) Archive() (bool, error) {
	v, err := s.acquire()
	if err != nil {
		return false, err
	}
	archive, err := has(v.snapshot, keyArchive)
	return archive, errors.Join(err, v.release())
}

// OlderFormat tells whether the store is of an older format than this program's: only what [Options].OlderFormat says
// can be read.
func (s *Store) OlderFormat() (bool, error) {
	v, err := s.acquire()
	if err != nil {
		return false, err
	}
	row, err := v.snapshot.Get(keyFormat)
	return !bytes.Equal(row, encodeFormat()), errors.Join(err, v.release())
}

// readMeta checks what the store says of itself and returns its genesis.
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

// newView looks at the database as it is now.
func newView(db *kv.DB, olderFormat bool) (*view, error) {
	v := &view{snapshot: db.Snapshot(), superseded: make(chan struct{})}
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

// has tells whether a row is there.
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

// checkEmpty keeps a store from being made in a database that has rows but no format.
func (v *view) checkEmpty() error {
	return kv.Scan(v.snapshot, nil, nil, func(key, _ []byte) error {
		return fmt.Errorf("%w: there are rows, the first under %x, but no format", ErrCorrupt, key)
	})
}

func encodeFormat() []byte { return binary.BigEndian.AppendUint32(nil, format) }

// acquire returns the newest view for reading; release gives it back.
func (s *Store) acquire() (*view, error) {
	for {
		v := s.view.Load()
		if v == nil {
			return nil, ErrClosed
		}
		// A view without readers was replaced meanwhile and is gone.
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

// commit writes a batch and publishes the view after it. The caller holds s.writing.
func (s *Store) commit(b *kv.Batch, sync bool) error {
	v, err := s.write(b, s.view.Load(), sync)
	if err != nil {
		return err
	}
	return s.publish(v)
}

// publish makes v, or nil for none, the newest view and wakes who waits for one.
func (s *Store) publish(v *view) error {
	before := s.view.Swap(v)
	if before == nil {
		return nil
	}
	close(before.superseded)
	return before.release()
}

// lock waits for the turn to write, which ends with s.writing.Unlock.
func (s *Store) lock() {
	s.waiting.Add(1)
	s.writing.Lock()
	s.waiting.Add(-1)
}

// writable returns the view that the next batch builds on. The caller holds s.writing, under which it stays the
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

// Close ends reading and writing. States in use stay readable until they are closed, which must be before the
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

// Head is the header of the last block, kept in memory; the zero header of an empty store. What it names is on disk.
func (s *Store) Head() types.SignedHeader {
	if v := s.view.Load(); v != nil {
		return v.head
	}
	return types.SignedHeader{}
}

// HeadHash is the block hash of the last block; zero of an empty store.
func (s *Store) HeadHash() types.BlockHash {
	if v := s.view.Load(); v != nil {
		return v.hash
	}
	return types.BlockHash{}
}

// Genesis is the chain's beginning; the zero value of an empty store.
func (s *Store) Genesis() types.Genesis {
	if g := s.genesis.Load(); g != nil {
		return *g
	}
	return types.Genesis{}
}

// OldestHeight is the first height whose block and state are kept.
func (s *Store) OldestHeight() types.Height {
	if v := s.view.Load(); v != nil {
		return v.oldest
	}
	return 0
}

// WaitHeight returns when the head has reached h, or with the context's error, or [ErrClosed].
func (s *Store) WaitHeight(ctx context.Context, h types.Height) error {
	for {
		v := s.view.Load()
		switch {
		case v == nil:
			return ErrClosed
		case !v.empty && v.head.Header.Height >= h:
			return nil
		}
		select {
		case <-v.superseded:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// WaitHead returns when the head is another block than the one with the hash seen, or with the context's error, or
// [ErrClosed]. Unlike [Store.WaitHeight] it also tells of a head that was taken back.
func (s *Store) WaitHead(ctx context.Context, seen types.BlockHash) error {
	for {
		v := s.view.Load()
		switch {
		case v == nil:
			return ErrClosed
		case v.hash != seen:
			return nil
		}
		select {
		case <-v.superseded:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
