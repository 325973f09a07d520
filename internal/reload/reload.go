// Package reload reads files again that change while a process runs: certificates, authorities, keys and tokens. It is
// the one way in which that is done.
package reload

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// checkInterval is how often files are looked at for changes.
const checkInterval = 10 * time.Second

// Set is all that a process reads again. Its methods may be called concurrently.
type Set struct {
	log *slog.Logger

	mu    sync.Mutex
	files []interface{ reread() }
}

// NewSet is a set that holds nothing yet.
func NewSet(log *slog.Logger) *Set { return &Set{log: cmp.Or(log, slog.Default())} }

// Reload reads all files of the set now, changed or not, in the order in which they were first read.
func (s *Set) Reload() {
	s.mu.Lock()
	files := slices.Clone(s.files)
	s.mu.Unlock()
	for _, f := range files {
		f.reread()
	}
}

// Files is what some files hold. It is loaded again when one of them has changed, which the one who asks for it finds
// out: there is no goroutine.
type Files[T any] struct {
	files   []string
	load    func() (T, error)
	log     *slog.Logger
	now     func() time.Time
	next    atomic.Int64 // Unix nanoseconds of the next look
	current atomic.Pointer[T]

	loading sync.Mutex // guards stamp
	stamp   string     // of the files as they were loaded
}

// Watch loads files for the first time, and adds them to a set.
func Watch[T any](set *Set, load func() (T, error), files ...string) (*Files[T], error) {
	w := &Files[T]{files: files, load: load, log: set.log, now: time.Now}
	w.stamp = w.stat()
	value, err := load()
	if err != nil {
		return nil, err
	}
	w.current.Store(&value)
	w.next.Store(w.now().Add(checkInterval).UnixNano())
	set.mu.Lock()
	defer set.mu.Unlock()
	set.files = append(set.files, w)
	return w, nil
}

// Get returns what the files hold. Files that do not load leave what was loaded before, and a line in the log.
func (w *Files[T]) Get() *T {
	now, next := w.now(), w.next.Load()
	if now.UnixNano() < next || !w.next.CompareAndSwap(next, now.Add(checkInterval).UnixNano()) {
		return w.current.Load()
	}
	w.loading.Lock()
	defer w.loading.Unlock()
	if w.stat() != w.stamp {
		w.reload()
	}
	return w.current.Load()
}

// reread loads the files now, changed or not. Times do not tell apart what was written within a tick of the file
// system's clock.
func (w *Files[T]) reread() {
	w.loading.Lock()
	defer w.loading.Unlock()
	w.next.Store(w.now().Add(checkInterval).UnixNano())
	w.reload()
}

// reload loads the files. It is called with the lock held.
func (w *Files[T]) reload() {
	w.stamp = w.stat()
	value, err := w.load()
	if err != nil {
		w.log.Error("a file cannot be used, what it held before stays in force", "files", w.files, "error", err)
		return
	}
	w.current.Store(&value)
	w.log.Info("files were loaded again", "files", w.files)
}

// stat is a text that changes with the files.
func (w *Files[T]) stat() string {
	stamp := ""
	for _, file := range w.files {
		if info, err := os.Stat(file); err == nil {
			stamp += fmt.Sprint(info.ModTime(), info.Size())
		}
		stamp += ";"
	}
	return stamp
}
