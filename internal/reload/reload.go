package front

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// checkInterval is how often files are looked at for changes.
const checkInterval = 10 * time.Second

// watched is what some files hold. It is loaded again when one of them has changed, which the one who asks for it finds
// out: there is no goroutine.
type watched[T any] struct {
	files   []string
	load    func() (T, error)
	log     *slog.Logger
	now     func() time.Time
	next    atomic.Int64 // Unix nanoseconds of the next look
	current atomic.Pointer[T]

	loading sync.Mutex // guards stamp
	stamp   string     // of the files as they were loaded
}

// watch loads the files for the first time.
func watch[T any](log *slog.Logger, load func() (T, error), files ...string) (*watched[T], error) {
	w := &watched[T]{files: files, load: load, log: log, now: time.Now}
	w.stamp = w.stat()
	value, err := load()
	if err != nil {
		return nil, err
	}
	w.current.Store(&value)
	w.next.Store(w.now().Add(checkInterval).UnixNano())
	return w, nil
}

// get returns what the files hold. Files that do not load leave what was loaded before, and a line in the log.
func (w *watched[T]) get() *T {
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
// system's clock. Without files there is nothing to load.
func (w *watched[T]) reread() {
	if w == nil {
		return
	}
	w.loading.Lock()
	defer w.loading.Unlock()
	w.next.Store(w.now().Add(checkInterval).UnixNano())
	w.reload()
}

// reload loads the files. It is called with the lock held.
func (w *watched[T]) reload() {
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
func (w *watched[T]) stat() string {
	stamp := ""
	for _, file := range w.files {
		if info, err := os.Stat(file); err == nil {
			stamp += fmt.Sprint(info.ModTime(), info.Size())
		}
		stamp += ";"
	}
	return stamp
}
