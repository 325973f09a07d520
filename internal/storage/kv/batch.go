package kv

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Batch collects writes that are applied atomically; a later write to the same key wins. It is not safe for concurrent
// use.
type Batch struct {
	pebble *pebble.Batch
	err    error
}

// NewBatch returns an empty batch with room for size bytes. It must be ended by [DB.Commit] or [Batch.Discard].
func (db *DB) NewBatch(size int) *Batch { return &Batch{pebble: db.pebble.NewBatchWithSize(size)} }

// Set stores value, which may be empty, under key. It copies both.
func (b *Batch) Set(key, value []byte) { b.note(b.pebble.Set(key, value, nil)) }

// Delete removes key if present.
func (b *Batch) Delete(key []byte) { b.note(b.pebble.Delete(key, nil)) }

// DeleteRange removes all keys in [lower, upper).
func (b *Batch) DeleteRange(lower, upper []byte) { b.note(b.pebble.DeleteRange(lower, upper, nil)) }

// Discard drops the batch.
func (b *Batch) Discard() error { return b.pebble.Close() }

func (b *Batch) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Commit applies the batch and ends it. With sync, the batch is on disk when Commit returns. Without sync, a crash may
// lose the batch and later ones, but none before it. An error is [ErrFailed].
func (db *DB) Commit(b *Batch, sync bool) error {
	options, since := pebble.NoSync, time.Now()
	if sync {
		options = pebble.Sync
	}
	if err := db.apply(b, options); err != nil {
		return err
	}
	if sync {
		db.syncs.Add(1)
		db.syncNanos.Add(int64(time.Since(since)))
	}
	return b.pebble.Close()
}

// Sync returns once all committed batches are on disk. An error is [ErrFailed].
func (db *DB) Sync() error {
	b := db.NewBatch(0)
	b.note(b.pebble.LogData(nil, nil)) // an empty batch would not wait
	return db.Commit(b, true)
}

// apply applies the batch. It does not close a failed batch, which would allow its reuse: the log may still read it.
func (db *DB) apply(b *Batch, options *pebble.WriteOptions) (err error) {
	if earlier := db.Failure(); earlier != nil {
		return errors.Join(earlier, b.Discard())
	}
	if b.err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrFailed, b.err), b.Discard())
	}
	// Pebble ends the process when it cannot continue. On this goroutine, return an error to the caller instead.
	defer func() { db.recoverFatal(recover(), &err) }()
	if err := db.pebble.Apply(b.pebble, options); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return db.Failure() // a failed log, which is hidden from Pebble
}
