// Package journal keeps payloads in an append-only file so that they survive the process. What [Journal.Append] has
// written outlives a kill at once. It outlives a loss of power as soon as it is synced, by default within 50 ms. The
// file is replaced by a shorter one, atomically and while appending goes on, when its owner asks for it.
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

// syncDelay is how long an append waits for others to share its sync. It leaves the sync itself half of the 50 ms
// within which an append is to be durable.
const syncDelay = 25 * time.Millisecond

// lazyDelay is syncDelay with Options.Lazy.
const lazyDelay = 5 * time.Second

// ErrClosed is the error of an append to a journal that was closed.
var ErrClosed = errors.New("journal is closed")

// Options say where and how a journal is kept.
type Options struct {
	FS   FS
	Path string
	// Sync makes Append return only when what it wrote is durable.
	Sync bool
	// Lazy has what was appended synced within some 5 s and not 50 ms, unless Sync is set. It is for a journal that only
	// tells again what is durable elsewhere until [Journal.Sync] is called.
	Lazy bool
}

// Journal is an open journal. Its methods may be called concurrently, but only one Rewrite at a time.
type Journal struct {
	opts Options

	syncing sync.Mutex // held while the file is synced or exchanged; taken before mu
	mu      sync.Mutex // guards what follows and orders writes
	settled *sync.Cond // on mu: synced, failed or closed changed
	file    File
	size    int64  // of file
	written uint64 // appends so far
	synced  uint64 // of them durable
	failed  error  // why the file cannot be trusted any more; only a rewrite helps
	closed  bool
	syncer  syncer
}

// syncer is the goroutine that makes appends durable.
type syncer struct {
	dirty chan struct{} // an append waits for it
	done  chan struct{} // closed when it is to end
	ended sync.WaitGroup
}

// wake has what was appended synced.
func (s *syncer) wake() {
	select {
	case s.dirty <- struct{}{}:
	default: // it is to sync already
	}
}

// end returns when the goroutine has ended.
func (s *syncer) end() {
	close(s.done)
	s.ended.Wait()
}

// Create makes the journal's file anew from payloads, replacing what is at its path atomically, and opens it.
func Create(opts Options, payloads iter.Seq[[]byte]) (*Journal, error) {
	j := &Journal{opts: opts, syncer: syncer{dirty: make(chan struct{}, 1), done: make(chan struct{})}}
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
	j.syncer.ended.Go(j.syncLoop)
	return j, nil
}

// Append writes payloads as records, all or none. When it returns nil they are in the file, and with Options.Sync
// durable. After an error of writing the journal goes on as before; after one of syncing it refuses appends until
// [Journal.Rewrite] succeeds, because what the file holds is then unknown.
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
		// Part of buf may be in the file; without it the next record follows a whole one again.
		if cut := j.file.Truncate(j.size); cut != nil {
			j.fail(errors.Join(err, cut))
		}
		return err
	}
	j.size += int64(len(buf))
	j.written++
	j.syncer.wake()
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
		case <-j.syncer.done:
			return
		case <-j.syncer.dirty:
		}
		if !j.opts.Sync {
			delay := time.NewTimer(wait)
			select {
			case <-j.syncer.done:
				delay.Stop()
				return
			case <-delay.C:
			}
		}
		// A failure is kept in j.failed, where every append meets it.
		_ = j.Sync()
	}
}

// Sync makes durable what was appended so far.
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

// Size is the length of the file in bytes.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Err is why the journal refuses appends, or nil.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// Rewrite replaces the file by one with payloads followed by all records that were appended since the file was mark
// bytes long. Who calls it takes mark from [Journal.Size] first and then collects payloads, which must hold all that is
// worth keeping of what lies before mark. Appends go on meanwhile, but for the moment of the exchange. After an error
// the old file is still in use.
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
	// Most of what came meanwhile is copied and synced while appends go on, so that the exchange is short.
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

// exchange puts file, of size bytes and synced, in the place of the old one, whose records from upTo on it still lacks.
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
		// A loss of power could bring the old file back: nothing may be acknowledged in the new one.
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

// discard closes and removes a new file that is of no use because of err.
func (j *Journal) discard(file File, err error) error {
	return errors.Join(err, file.Close(), j.opts.FS.Remove(j.newPath()))
}

// Close syncs and closes the file. Appends and rewrites after it give [ErrClosed]; Close again does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	j.syncer.end()
	err := j.Sync()
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.settled.Broadcast()
	return errors.Join(err, j.file.Close())
}
