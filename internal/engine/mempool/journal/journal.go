// Package journal keeps payloads in an append-only file. After [Journal.Append] they survive a kill of the process at
// once, and a power loss once synced, by default within 50 ms. On request, the file is atomically replaced by a shorter
// one while appends go on.
package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"sync"
	"time"
)

// syncDelay is the time for which appends are collected before a sync. It leaves the sync half of the 50 ms within
// which an append should be durable.
const syncDelay = 25 * time.Millisecond

// lazyDelay is the syncDelay with Options.Lazy.
const lazyDelay = 5 * time.Second

// ErrClosed is returned by a closed journal.
var ErrClosed = errors.New("journal is closed")

// Options configure a journal.
type Options struct {
	FS   FS
	Path string
	// Sync makes Append wait until its payloads are durable.
	Sync bool
	// Lazy delays syncs to some 5 s instead of 50 ms, unless Sync is set. It is for a journal whose content is also
	// durable elsewhere until [Journal.Sync] is called.
	Lazy bool
}

// Journal is an open journal. Its methods are safe for concurrent use, except that only one Rewrite may run at a time.
type Journal struct {
	opts Options

	syncing sync.Mutex // held while the file is synced or replaced; acquired before mu
	mu      sync.Mutex // guards the fields below and orders writes
	settled *sync.Cond // uses mu; signals changes of synced, failed and closed
	file    File
	size    int64  // length of file
	written uint64 // number of appends so far
	synced  uint64 // number of durable appends
	failed  error  // why the file cannot be trusted; only a rewrite clears it
	closed  bool

	// The goroutine that syncs appends:
	dirty chan struct{} // requests a sync
	done  chan struct{} // closed to end it
	ended sync.WaitGroup
}

// requestSync wakes the goroutine that syncs appends.
func (j *Journal) requestSync() {
	select {
	case j.dirty <- struct{}{}:
	default: // already requested
	}
}

// Create atomically replaces the file at opts.Path by a new journal with the given payloads, and opens it.
func Create(opts Options, payloads iter.Seq[[]byte]) (*Journal, error) {
	j := &Journal{opts: opts, dirty: make(chan struct{}, 1), done: make(chan struct{})}
	j.settled = sync.NewCond(&j.mu)
	file, size, err := j.writeNew(payloads)
	if err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, j.discard(file, fmt.Errorf("sync journal: %w", err))
	}
	if err := j.install(); err != nil {
		return nil, j.discard(file, err)
	}
	j.file, j.size = file, size
	j.ended.Go(j.syncLoop)
	return j, nil
}

// Append writes all payloads as records, or none. When it returns nil they are in the file, and durable with
// Options.Sync. After a failed write the journal remains usable if it could cut off the partial record. After a failed
// sync it refuses appends until [Journal.Rewrite] succeeds, because the content of the file is unknown.
func (j *Journal) Append(payloads ...[]byte) error {
	size := 0
	for _, p := range payloads {
		size += RecordBytes(len(p))
	}
	buf := make([]byte, 0, size)
	for _, p := range payloads {
		var err error
		if buf, err = appendRecord(buf, p); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.write(buf); err != nil {
		return err
	}
	if j.opts.Sync {
		return j.await(j.written)
	}
	return nil
}

func (j *Journal) write(buf []byte) error {
	switch {
	case j.closed:
		return ErrClosed
	case j.failed != nil:
		return j.failed
	}
	if _, err := j.file.Write(buf); err != nil {
		err = fmt.Errorf("write journal: %w", err)
		// Cut off a partial write, so that the next record follows a whole one.
		if cut := j.file.Truncate(j.size); cut != nil {
			j.fail(errors.Join(err, cut))
		}
		return err
	}
	j.size += int64(len(buf))
	j.written++
	j.requestSync()
	return nil
}

// await waits until append number n is durable.
func (j *Journal) await(n uint64) error {
	for j.synced < n {
		switch {
		case j.failed != nil:
			return j.failed
		case j.closed:
			return ErrClosed
		}
		j.settled.Wait()
	}
	return nil
}

func (j *Journal) fail(err error) {
	j.failed = err
	j.settled.Broadcast()
}

func (j *Journal) syncLoop() {
	wait := syncDelay
	if j.opts.Lazy {
		wait = lazyDelay
	}
	for {
		select {
		case <-j.done:
			return
		case <-j.dirty:
		}
		if !j.opts.Sync {
			delay := time.NewTimer(wait)
			select {
			case <-j.done:
				delay.Stop()
				return
			case <-delay.C:
			}
		}
		// j.failed holds a failure, which every append returns.
		_ = j.Sync()
	}
}

// Sync makes all appends so far durable.
func (j *Journal) Sync() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	file, upTo, err := j.file, j.written, j.failed
	nothing := j.synced == upTo
	j.mu.Unlock()
	if err != nil || nothing {
		return err
	}
	err = file.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("sync journal: %w", err)
		j.fail(err)
		return err
	}
	j.synced = upTo
	j.settled.Broadcast()
	return nil
}

// Size returns the length of the file in bytes.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Err returns the reason why the journal refuses appends, or nil.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// Rewrite replaces the file by one with payloads, followed by all records after the first mark bytes of the old file.
// The caller takes mark from [Journal.Size] first, and then collects payloads, which must include all that is worth
// keeping of the records before mark. Appends go on meanwhile, except during the exchange. After an error before the
// exchange, the old file remains in use. If the exchange cannot be made durable, the new file refuses appends.
func (j *Journal) Rewrite(mark int64, payloads iter.Seq[[]byte]) error {
	file, size, err := j.writeNew(payloads)
	if err != nil {
		return err
	}
	old, err := j.opts.FS.Open(j.opts.Path)
	if err != nil {
		return j.discard(file, fmt.Errorf("rewrite journal: %w", err))
	}
	defer old.Close() // only read from
	// Copy and sync most of the new records while appends go on, to keep the exchange short.
	upTo := j.Size()
	n, err := io.Copy(file, io.NewSectionReader(old, mark, upTo-mark))
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return j.discard(file, fmt.Errorf("rewrite journal: %w", err))
	}
	return j.exchange(file, size+n, old, upTo)
}

// exchange replaces the old file by file, which has size bytes, is synced, and lacks the old one's records from upTo
// on.
func (j *Journal) exchange(file File, size int64, old io.ReaderAt, upTo int64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return j.discard(file, ErrClosed)
	}
	if missing := j.size - upTo; missing > 0 {
		n, err := io.Copy(file, io.NewSectionReader(old, upTo, missing))
		size += n
		if err == nil {
			err = file.Sync()
		}
		if err != nil {
			return j.discard(file, fmt.Errorf("rewrite journal: %w", err))
		}
	}
	if err := j.opts.FS.Rename(j.newPath(), j.opts.Path); err != nil {
		return j.discard(file, fmt.Errorf("rewrite journal: %w", err))
	}
	closing := j.file.Close()
	j.file, j.size, j.synced, j.failed = file, size, j.written, nil
	if err := j.opts.FS.SyncDir(filepath.Dir(j.opts.Path)); err != nil {
		// A power loss could bring the old file back: no append to the new one may be acknowledged.
		j.fail(fmt.Errorf("rewrite journal: %w", err))
		return j.failed
	}
	j.settled.Broadcast()
	if closing != nil {
		return fmt.Errorf("close the journal that was replaced: %w", closing)
	}
	return nil
}

func (j *Journal) newPath() string { return j.opts.Path + ".new" }

// writeNew writes payloads to a new file beside the journal's.
func (j *Journal) writeNew(payloads iter.Seq[[]byte]) (File, int64, error) {
	file, err := j.opts.FS.Create(j.newPath())
	if err != nil {
		return nil, 0, fmt.Errorf("create journal: %w", err)
	}
	size, err := writeAll(file, payloads)
	if err != nil {
		return nil, 0, j.discard(file, fmt.Errorf("write journal: %w", err))
	}
	return file, size, nil
}

func writeAll(file File, payloads iter.Seq[[]byte]) (size int64, err error) {
	w := bufio.NewWriterSize(file, 1<<20)
	record := []byte(magic)
	for payload := range payloads {
		size += int64(len(record))
		if _, err := w.Write(record); err != nil {
			return 0, err
		}
		if record, err = appendRecord(record[:0], payload); err != nil {
			return 0, err
		}
	}
	if _, err := w.Write(record); err != nil {
		return 0, err
	}
	return size + int64(len(record)), w.Flush()
}

func (j *Journal) install() error {
	err := j.opts.FS.Rename(j.newPath(), j.opts.Path)
	if err == nil {
		err = j.opts.FS.SyncDir(filepath.Dir(j.opts.Path))
	}
	if err != nil {
		return fmt.Errorf("create journal: %w", err)
	}
	return nil
}

// discard closes and removes a new file that err made useless.
func (j *Journal) discard(file File, err error) error {
	return errors.Join(err, file.Close(), j.opts.FS.Remove(j.newPath()))
}

// Close syncs and closes the file. Later appends and rewrites return [ErrClosed]; closing again has no effect.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	close(j.done)
	j.ended.Wait()
	err := j.Sync()
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.settled.Broadcast()
	return errors.Join(err, j.file.Close())
}
