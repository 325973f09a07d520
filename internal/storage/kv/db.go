package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	// ErrNotFound is the error of a Get for a key that has no value.
	ErrNotFound = errors.New("key not found")
	// ErrLocked is the error of opening a directory that is open already, here or in another process.
	ErrLocked = errors.New("the directory is in use by another process")
	// ErrNone is the error of opening to read a database that is not there.
	ErrNone = errors.New("there is no database")
	// ErrFailed is the error of a write that did not reach the disk. Whether a new start finds it is not known until
	// then; a database that failed once accepts no more writes.
	ErrFailed = errors.New("the database failed to write")
	// ErrDamaged is the error of a read that found the database's files to be other than they were written. The read
	// fails and no other does, until files are merged, which reads them whole: then no more writes are accepted.
	ErrDamaged = errors.New("the database is damaged")
)

// Sizes where [Options] leave them open.
const (
	DefaultCacheBytes    = 256 << 20
	DefaultMemTableBytes = 16 << 20
	DefaultMaxUnmerged   = 64
	mergeAt              = 16 // levels of unmerged files
)

// Options of a database. The zero value is ready to use.
type Options struct {
	FS         FS    // zero: the disk
	CacheBytes int64 // of the block cache; 0: [DefaultCacheBytes]
	// MemTableBytes is how much is written before a sorted file is made of it; 0: [DefaultMemTableBytes]. A batch that
	// needs half of it gets a file of its own and is cheapest when its rows are in order. Up to sixteen times as much
	// waits in memory for its files.
	MemTableBytes int
	// MaxUnmerged is how many levels of unmerged files there may be before writing waits; 0: [DefaultMaxUnmerged]. A read
	// may have to ask each of them.
	MaxUnmerged int
	OpenTables  int          // files that are kept open; 0: about 1,000
	Logger      *slog.Logger // nil: slog.Default(). Routine news is at debug level
	ReadOnly    bool         // nothing on the disk changes, and no batch is taken
}

// Reader reads a database or a snapshot of it. It is safe for concurrent use.
type Reader interface {
	// Get returns a copy of the value under key, or [ErrNotFound].
	Get(key []byte) ([]byte, error)
	// NewIter returns an iterator over the keys in [lower, upper); a nil bound is none. The caller closes it.
	NewIter(lower, upper []byte) (*Iter, error)
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	pebble   *pebble.DB
	lock     *pebble.Lock
	readOnly bool

	failed  atomic.Pointer[error] // the first failure
	failing chan struct{}         // closed after it
	fatal   atomic.Bool           // Pebble cannot go on, and may hold its locks for ever
	opened  atomic.Bool
	flushed atomic.Pointer[error] // of the last flush
	damages damages
	logger  logger

	stalls, syncs, syncNanos atomic.Int64 // for Metrics
}

// Open opens the database in a directory and creates both where there are none, but for one that is opened to be read
// only. It returns [ErrLocked] when the directory is in use.
func Open(dir string, options Options) (_ *DB, err error) {
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
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

// openPebble opens the database of a directory whose lock the options have. It writes what the log holds into a table
// first, and where that fails, as on a full disk, Pebble tries again for ever: then the first error is returned. The
// lock is given free once Pebble has ended, which may be with the process.
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

// openError marks the error of opening a database that is there. What neither the system nor its format explains is
// damage: files that are missing, or are not as long as others say.
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
	if strings.Contains(err.Error(), "format major version") { // of a newer Pebble
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// readError marks the error of a read that found damage, or no database.
func readError(err error) error {
	switch {
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return err
}

// pebbleOptions are tuned for one synced batch of some 100,000 rows in order a second, each of which becomes a file.
// They are tuned for reads of single rows too, which the filters keep from most files. What is in level 0 is soon
// written again: compressing it is for nothing.
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
		CompactionConcurrencyRange:  func() (lower, upper int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
	}
	if options.CacheBytes > 0 {
		o.CacheSize = options.CacheBytes
	}
	if options.MemTableBytes > 0 {
		o.MemTableSize = uint64(options.MemTableBytes)
	}
	if options.MaxUnmerged > 0 {
		o.L0StopWritesThreshold = options.MaxUnmerged
		o.L0CompactionThreshold = min(mergeAt, options.MaxUnmerged) // or writing would wait for ever
	}
	o.MaxOpenFiles = options.OpenTables // 0: Pebble's own choice
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	o.Levels[1].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression } // and below
	for i := range o.Levels {
		o.Levels[i].BlockSize = 16 << 10
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // bits a key: about 1 % false positives
	}
	return o
}

// fail makes err the database's failure, unless there is one already.
func (db *DB) fail(err error) {
	if db.failed.CompareAndSwap(nil, &err) {
		close(db.failing)
	}
}

// Failing is closed once the database accepts no more writes. [DB.Failure] says why.
func (db *DB) Failing() <-chan struct{} { return db.failing }

// Failure is why the database accepts no more writes, nil where it does. It is [ErrFailed].
func (db *DB) Failure() error {
	if err := db.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// noteLog keeps a batch from a log that could not be written.
func (db *DB) noteLog(err error) { db.fail(fmt.Errorf("%w: its log: %w", ErrFailed, err)) }

// noteFatal is told of a fault after which Pebble cannot go on.
func (db *DB) noteFatal(err error) {
	db.fatal.Store(true)
	db.fail(fmt.Errorf("%w: %w", ErrFailed, err))
}

// noteFlush is told of the end of a flush, before [DB.noteBackground] is.
func (db *DB) noteFlush(info pebble.FlushInfo) { db.flushed.Store(&info.Err) }

// noteBackground is told of an error in the background. Pebble tries a flush that failed again for ever, while memory
// fills and nobody is told: that is a failure. So is any such error while the database is opened.
func (db *DB) noteBackground(err error) {
	db.logger.Errorf("in the background: %s", err)
	if flushed := db.flushed.Load(); !db.opened.Load() || flushed != nil && errors.Is(err, *flushed) {
		db.fail(fmt.Errorf("%w: %w", ErrFailed, err))
	}
}

// noteCompaction is told of the end of a compaction. It has no caller who could be told that what it read is damaged,
// and without it there are ever more files to read. One that only failed to write is tried again.
func (db *DB) noteCompaction(info pebble.CompactionInfo) {
	if pebble.IsCorruptionError(info.Err) {
		db.fail(fmt.Errorf("%w: %w: %w", ErrFailed, ErrDamaged, info.Err))
	}
}

// Close closes the database and gives its directory free. Iterators and snapshots must be closed before; those that are
// not are an error. What is in the log only goes into a table first: damage to a table is found when it is read, but
// damage to the end of a log looks like a write that a crash cut off. It waits for no write that fails: the log has
// what no table has. After a fault that Pebble cannot go on from, the directory is free when the process has ended.
func (db *DB) Close() error {
	flushed := db.flushToClose()
	if db.fatal.Load() {
		return db.Failure() // Pebble may hold its own locks
	}
	return errors.Join(flushed, db.pebble.Close(), db.lock.Close())
}

// flushToClose makes a table of what is in the log only, unless writing fails.
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

// flushMemory begins to make a table of what is in memory, and returns what is closed at the end of that.
func (db *DB) flushMemory() (done <-chan struct{}, err error) {
	defer func() { db.recoverFatal(recover(), &err) }()
	return db.pebble.AsyncFlush()
}

// recoverFatal turns the panic of [logger.Fatalf], which was recovered, into an error.
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

// Snapshot returns the database as it is now, whatever is written later. The caller closes it; while it is open the
// disk keeps what was overwritten since.
func (db *DB) Snapshot() *Snapshot { return &Snapshot{db.pebble.NewSnapshot()} }

// Metrics are a database's vital signs. What is counted is since it was opened.
type Metrics struct {
	DiskBytes           uint64 // in all files
	WALBytes            uint64 // in the log: written, but not in a table yet
	LoggedBytes         uint64 // to the log
	WrittenBytes        uint64 // to the log and to tables, by flushes and compactions
	MemTableBytes       uint64
	CacheBytes          int64
	CacheHits           int64
	CacheMisses         int64
	Compactions         int64
	CompactionsRunning  int64 // now
	Flushes             int64
	CompactionDebtBytes uint64        // estimate of what is to be compacted
	ReadAmplification   int           // levels that a read may have to ask
	WriteStalls         int64         // how often writing had to wait for flushes or compactions
	DamagedFiles        int           // in which a reader found damage
	Syncs               int64         // batches that were waited for until they were on disk
	SyncTime            time.Duration // from handing those over to their being on disk, in all
}

// Metrics returns the present figures.
func (db *DB) Metrics() Metrics {
	m := db.pebble.Metrics()
	tables := m.Total() // whose flushed bytes count the log, too
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

// Snapshot is a database at one moment. It is safe for concurrent use, except for Close.
type Snapshot struct {
	pebble *pebble.Snapshot
}

// Get implements [Reader].
func (s *Snapshot) Get(key []byte) ([]byte, error) { return get(s.pebble, key) }

// NewIter implements [Reader].
func (s *Snapshot) NewIter(lower, upper []byte) (*Iter, error) {
	return newIter(s.pebble, lower, upper)
}

// Close gives the snapshot up. It is called once.
func (s *Snapshot) Close() error { return s.pebble.Close() }

func get(r pebble.Reader, key []byte) ([]byte, error) {
	value, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, readError(err)
	}
	// An empty value is not nil: the key is there.
	return append(make([]byte, 0, len(value)), value...), closer.Close()
}
