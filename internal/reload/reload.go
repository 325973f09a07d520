// Package reload reloads files that change while the process runs: certificates, authorities, keys and tokens. No other
// code does that.
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

// checkInterval is the time between two checks for changed files.
const checkInterval = 10 * time.Second

// Set is the set of files that a process loads again. It is safe for concurrent use.
type Set struct {
	log *slog.Logger

	mu    sync.Mutex
	files []interface{ reread() }
}

// NewSet returns an empty set.
func NewSet(log *slog.Logger) *Set { return &Set{log: cmp.Or(log, slog.Default())} }

// Reload loads all files of the set, changed or not, in the order of their first load.
func (s *Set) Reload() {
	s.mu.Lock()
	files := slices.Clone(s.files)
	s.mu.Unlock()
	for _, f := range files {
		f.reread()
	}
}

// Files is a value loaded from files. Get loads it again after a change of the files: there is no goroutine.
type Files[T any] struct {
	files   []string
	load    func() (T, error)
	log     *slog.Logger
	now     func() time.Time
	next    atomic.Int64 // Unix nanoseconds of the next check
	current atomic.Pointer[T]

	loading sync.Mutex // guards stamp
	stamp   string     // state of the files before the last load
}

// Watch loads files for the first time and adds them to a set.
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

// Get returns the current value. If changed files cannot be loaded, it logs an error and returns the previous value.
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

// reread loads the files, changed or not. Modification times alone do not show two writes within one tick of the file
// system's clock.
func (w *Files[T]) reread() {
	w.loading.Lock()
	defer w.loading.Unlock()
	w.next.Store(w.now().Add(checkInterval).UnixNano())
	w.reload()
}

// reload loads the files. The caller must hold loading.
func (w *Files[T]) reload() {
	w.stamp = w.stat()
	value, err := w.load()
	if err != nil {
		w.log.Error("cannot reload a file: its previous content stays in force", "files", w.files, "error", err)
		return
	}
	w.current.Store(&value)
	w.log.Info("reloaded files", "files", w.files)
}

// stat returns a text that changes with the files' modification times and sizes.
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
