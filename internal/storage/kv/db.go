package kv

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cairn-chain/cairn/internal/machine"
)

var (
	// ErrNotFound is returned by Get for a key that has no value.
	ErrNotFound = errors.New("key not found")
	// ErrLocked is returned when a directory to open is already open, in this or another process.
	ErrLocked = errors.New("the directory is in use by another process")
	// ErrNone is returned when a database to be opened read-only does not exist.
	ErrNone = errors.New("the database does not exist")
	// ErrFailed is returned for a write that failed to reach the disk. Whether it did is only known after a restart.
	// After one failure a database accepts no more writes.
	ErrFailed = errors.New("the database failed to write")
	// ErrDamaged is returned by a read that finds the database's files changed. Other reads still work. A compaction
	// reads whole files; if it finds the damage, the database accepts no more writes.
	ErrDamaged = errors.New("the database is damaged")
)

// Defaults for [Options].
const (
	// DefaultCacheBytes has room for the filters of 10^7 keys. The cache is in Go's heap, which then grows by as much
	// again; blocks that it lacks are in the system's page cache.
	DefaultCacheBytes    = 32 << 20
	DefaultMemTableBytes = 16 << 20
	DefaultMaxUnmerged   = 64
	mergeAt              = 16 // levels of unmerged files
)

// Options configures a database. The zero value is ready to use.
type Options struct {
	FS         FS    // zero for the disk
	CacheBytes int64 // size of the block cache; 0 for [DefaultCacheBytes]
	// MemTableBytes is the size at which the memtable is flushed to a table; 0 for [DefaultMemTableBytes]. A batch of
	// at least half that size gets a table of its own, and is cheapest when its rows are in order. Up to sixteen times
	// as much may wait in memory to be flushed.
	MemTableBytes int
	// MaxUnmerged bounds the levels of unmerged files; at the bound, writes wait. 0 means [DefaultMaxUnmerged]. A read
	// may have to look into each of these levels.
	MaxUnmerged int
	OpenTables  int          // files kept open; 0 for about 1,000
	Logger      *slog.Logger // nil for slog.Default(). Routine events are logged at debug level
	ReadOnly    bool         // nothing on the disk changes, and batches are refused
}

// Reader reads a database or a snapshot of it. It is safe for concurrent use.
type Reader interface {
	// Get returns a copy of the value under key, or [ErrNotFound].
	Get(key []byte) ([]byte, error)
	// NewIter returns an iterator over the keys in [lower, upper); a nil bound means no bound. The caller must close
	// it.
	NewIter(lower, upper []byte) (*Iter, error)
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	pebble   *pebble.DB
	lock     *pebble.Lock
	readOnly bool

	failed  atomic.Pointer[error] // first failure
	failing chan struct{}         // closed after the first failure
	fatal   atomic.Bool           // Pebble cannot continue, and may never release its locks
	opened  atomic.Bool
	flushed atomic.Pointer[error] // error of the last flush
	damages damages
	logger  logger

	stalls, syncs, syncNanos atomic.Int64 // for Metrics
}

// Open opens the database in a directory. It creates both if necessary, unless options.ReadOnly is set. It returns
// [ErrLocked] if the directory is in use.
func Open(dir string, options Options) (_ *DB, err error) {
	options.Logger = cmp.Or(options.Logger, slog.Default())
	db := &DB{readOnly: options.ReadOnly, failing: make(chan struct{}), damages: damages{log: options.Logger}}
	db.logger = logger{options.Logger, db.noteFatal, new(atomic.Int64)}
	files := ordered{options.FS.orDisk(), db}
	if options.ReadOnly {
		db.lock, err = lockDirectory(dir, shared{files})
	} else {
		if err := options.FS.MakeDir(dir, 0o750); err != nil {
			return nil, fmt.Errorf("database directory: %w", err)
		}
		db.lock, err = lockDirectory(dir, files)
	}
	if err != nil {
		return nil, err
	}
	if err := db.openPebble(dir, db.pebbleOptions(options, files)); err != nil {
		return nil, fmt.Errorf("open database %s: %w", dir, openError(err))
	}
	return db, nil
}

// openPebble opens the database of a directory whose lock is in options. Pebble first writes the contents of the log
// into a table. If that fails, as on a full disk, it retries forever; openPebble then returns the first error. The lock
// is released once Pebble has ended, which may only be with the process.
func (db *DB) openPebble(dir string, options *pebble.Options) error {
	type result struct {
		db  *pebble.DB
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			db.recoverFatal(recover(), &r.err)
			done <- r
		}()
		r.db, r.err = pebble.Open(dir, options)
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return errors.Join(r.err, options.Lock.Close())
		}
		db.pebble = r.db
		db.opened.Store(true)
		return nil
	case <-db.failing:
		go func() {
			if r := <-done; r.err == nil {
				_ = r.db.Close() // it was never used
			}
			_ = options.Lock.Close()
		}()
		return db.Failure()
	}
}

// openError classifies the error of opening an existing database. An error that neither the system nor the format
// version explains is [ErrDamaged]: files are missing, or their lengths do not match.
func openError(err error) error {
	err = readError(err)
	for _, known := range []error{
		ErrNone, ErrDamaged, ErrFailed, fs.ErrPermission, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS,
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	if strings.Contains(err.Error(), "format major version") { // the format of a newer Pebble
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// readError marks the error of a read that found damage or no database.
func readError(err error) error {
	switch {
	case pebble.IsCorruptionError(err):
		if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
			err = info.Details // without the text of the error that carries the information
		}
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return err
}

// pebbleOptions returns options tuned for one synced batch per second of about 100,000 rows in order, each of which
// becomes a file, and for reads of single rows, which the filters keep away from most files. Level 0 is not compressed,
// since its files are soon rewritten.
func (db *DB) pebbleOptions(options Options, files vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:       files,
		ReadOnly: options.ReadOnly,
		Lock:     db.lock,
		Logger:   db.logger,
		EventListener: &pebble.EventListener{
			DataCorruption:  db.damages.note,
			FlushEnd:        db.noteFlush,
			CompactionEnd:   db.noteCompaction,
			BackgroundError: db.noteBackground,
			WriteStallBegin: func(pebble.WriteStallBeginInfo) { db.stalls.Add(1) },
		},
		CacheSize:                   DefaultCacheBytes,
		MemTableSize:                DefaultMemTableBytes,
		MemTableStopWritesThreshold: 16,
		L0CompactionThreshold:       mergeAt,
		L0StopWritesThreshold:       DefaultMaxUnmerged,
		LBaseMaxBytes:               256 << 20,
		BytesPerSync:                1 << 20,
		FormatMajorVersion:          pebble.FormatNewest,
		CompactionConcurrencyRange:  func() (lower, upper int) { return 1, max(1, machine.Cores()/2) },
	}
	if options.CacheBytes > 0 {
		o.CacheSize = options.CacheBytes
	}
	if options.MemTableBytes > 0 {
		o.MemTableSize = uint64(options.MemTableBytes)
	}
	if options.MaxUnmerged > 0 {
		o.L0StopWritesThreshold = options.MaxUnmerged
		o.L0CompactionThreshold = min(mergeAt, options.MaxUnmerged) // otherwise writes would wait forever
	}
	o.MaxOpenFiles = options.OpenTables // 0 for Pebble's default
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	o.Levels[1].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression } // and below
	for i := range o.Levels {
		o.Levels[i].BlockSize = 16 << 10
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // bits per key: about 1 % false positives
	}
	return o
}

// fail records the database's failure, unless there is one already.
func (db *DB) fail(err error) {
	if db.failed.CompareAndSwap(nil, &err) {
		close(db.failing)
	}
}

// Failing returns a channel that is closed once the database accepts no more writes. [DB.Failure] returns the reason.
func (db *DB) Failing() <-chan struct{} { return db.failing }

// Failure returns the reason why the database accepts no more writes, or nil if it still does. It is [ErrFailed].
func (db *DB) Failure() error {
	if err := db.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// noteLog records that a log could not be written.
func (db *DB) noteLog(err error) { db.fail(fmt.Errorf("%w: its log: %w", ErrFailed, err)) }

// noteFatal records a fault after which Pebble cannot continue.
func (db *DB) noteFatal(err error) {
	db.fatal.Store(true)
	db.fail(fmt.Errorf("%w: %w", ErrFailed, err))
}

// noteFlush records the result of a flush. Pebble calls it before [DB.noteBackground].
func (db *DB) noteFlush(info pebble.FlushInfo) { db.flushed.Store(&info.Err) }

// noteBackground handles a background error. Pebble retries a failed flush forever, while memory fills up and no caller
// gets an error. So a failed flush is a failure of the database, and so is any background error while the database is
// being opened.
func (db *DB) noteBackground(err error) {
	db.logger.Errorf("in the background: %s", err)
	if flushed := db.flushed.Load(); !db.opened.Load() || flushed != nil && errors.Is(err, *flushed) {
		db.fail(fmt.Errorf("%w: %w", ErrFailed, err))
	}
}

// noteCompaction handles the end of a compaction. If it read damaged data, the database fails: a compaction has no
// caller to return the error to, and without compactions reads have to look into more and more files. A compaction that
// only failed to write is retried.
func (db *DB) noteCompaction(info pebble.CompactionInfo) {
	if pebble.IsCorruptionError(info.Err) {
		db.fail(fmt.Errorf("%w: %w: %w", ErrFailed, ErrDamaged, info.Err))
	}
}

// Close closes the database and releases its directory. All iterators and snapshots must be closed before; open ones
// cause an error.
//
// Close first flushes the log to a table: damage to a table is found when it is read, but damage to the end of a log
// looks like a write cut off by a crash. It does not wait for a failing write, since the log has the data. After a
// fault that Pebble cannot recover from, the directory is only released when the process ends.
func (db *DB) Close() error {
	flushed := db.flushToClose()
	if db.fatal.Load() {
		return db.Failure() // Pebble may still hold its own locks
	}
	return errors.Join(flushed, db.pebble.Close(), db.lock.Close())
}

// flushToClose writes the data that is only in the log to a table, unless writes fail.
func (db *DB) flushToClose() error {
	if db.readOnly {
		return nil
	}
	if err := db.Failure(); err != nil {
		return err
	}
	done, err := db.flushMemory()
	if err != nil {
		return err
	}
	select {
	case <-done:
		return db.Failure() // a log may have failed meanwhile
	case <-db.failing:
		return db.Failure()
	}
}

// flushMemory begins to flush the memtable, and returns a channel that is closed when the flush ends.
func (db *DB) flushMemory() (done <-chan struct{}, err error) {
	defer func() { db.recoverFatal(recover(), &err) }()
	return db.pebble.AsyncFlush()
}

// recoverFatal converts a recovered panic of [logger.Fatalf] into an error.
func (db *DB) recoverFatal(fault any, err *error) {
	switch fault := fault.(type) {
	case nil:
	case fatal:
		*err = fmt.Errorf("%w: %w", ErrFailed, fault)
	default:
		panic(fault)
	}
}

// Get implements [Reader].
func (db *DB) Get(key []byte) ([]byte, error) { return get(db.pebble, key) }

// NewIter implements [Reader].
func (db *DB) NewIter(lower, upper []byte) (*Iter, error) { return newIter(db.pebble, lower, upper) }

// Snapshot returns a view of the database as it is now, unaffected by later writes. The caller must close it. While it
// is open, the disk keeps data overwritten since.
func (db *DB) Snapshot() *Snapshot { return &Snapshot{db.pebble.NewSnapshot()} }

// Metrics holds a database's statistics. Counters start when the database is opened.
type Metrics struct {
	DiskBytes           uint64 // size of all files
	WALBytes            uint64 // size of the log: written but not yet in a table
	LoggedBytes         uint64 // written to the log
	WrittenBytes        uint64 // written to the log, and to tables by flushes and compactions
	MemTableBytes       uint64
	CacheBytes          int64
	CacheHits           int64
	CacheMisses         int64
	Compactions         int64
	CompactionsRunning  int64 // currently
	Flushes             int64
	CompactionDebtBytes uint64        // estimated bytes to be compacted
	ReadAmplification   int           // levels that a read may have to look into
	WriteStalls         int64         // how often writes had to wait for flushes or compactions
	DamagedFiles        int           // files in which a reader found damage
	Syncs               int64         // synced batches
	SyncTime            time.Duration // total time of synced commits
}

// Metrics returns the current statistics.
func (db *DB) Metrics() Metrics {
	m := db.pebble.Metrics()
	tables := m.Total() // its flushed bytes include the log
	return Metrics{
		LoggedBytes:         m.WAL.BytesWritten,
		WrittenBytes:        tables.TableBytesFlushed + tables.TableBytesCompacted,
		DiskBytes:           m.DiskSpaceUsage(),
		WALBytes:            m.WAL.Size,
		MemTableBytes:       m.MemTable.Size,
		CacheBytes:          m.BlockCache.Size,
		CacheHits:           m.BlockCache.Hits,
		CacheMisses:         m.BlockCache.Misses,
		Compactions:         m.Compact.Count,
		CompactionsRunning:  m.Compact.NumInProgress,
		Flushes:             m.Flush.Count,
		CompactionDebtBytes: m.Compact.EstimatedDebt,
		ReadAmplification:   m.ReadAmp(),
		WriteStalls:         db.stalls.Load(),
		DamagedFiles:        db.damages.count(),
		Syncs:               db.syncs.Load(),
		SyncTime:            time.Duration(db.syncNanos.Load()),
	}
}

// Snapshot is a view of a database at one moment. It is safe for concurrent use, except for Close.
type Snapshot struct {
	pebble *pebble.Snapshot
}

// Get implements [Reader].
func (s *Snapshot) Get(key []byte) ([]byte, error) { return get(s.pebble, key) }

// NewIter implements [Reader].
func (s *Snapshot) NewIter(lower, upper []byte) (*Iter, error) {
	return newIter(s.pebble, lower, upper)
}

// Close releases the snapshot. It must be called once.
func (s *Snapshot) Close() error { return s.pebble.Close() }

func get(r pebble.Reader, key []byte) ([]byte, error) {
	value, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, readError(err)
	}
	// Return an empty value as non-nil: the key is present.
	return append(make([]byte, 0, len(value)), value...), closer.Close()
}
