package kv

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// logger is Pebble's log in ours.
type logger struct {
	out     *slog.Logger
	onFatal func(error)
	last    *atomic.Int64 // when Errorf last wrote, in Unix nanoseconds
}

// fatal is a fault after which Pebble cannot go on, in its words. It is a panic where [DB] recovers.
type fatal struct {
	message string
	cause   error // nil where there is none
}

func (f fatal) Error() string { return f.message }

func (f fatal) Unwrap() error { return f.cause }

// errorInterval is the least time between two errors in the log: Pebble tries again hundreds of times a second.
const errorInterval = time.Second

// Infof logs routine news.
func (l logger) Infof(format string, args ...any) {
	if l.out.Enabled(context.Background(), slog.LevelDebug) {
		l.out.Debug("database: " + fmt.Sprintf(format, args...))
	}
}

// Errorf logs a fault in the background, after which Pebble tries again.
func (l logger) Errorf(format string, args ...any) {
	now, last := time.Now().UnixNano(), l.last.Load()
	if now-last >= int64(errorInterval) && l.last.CompareAndSwap(last, now) {
		l.out.Error("the database failed in the background", "error", fmt.Sprintf(format, args...))
	}
}

// Fatalf does not return, as Pebble relies on. It panics where [DB] recovers, which makes it the error of a call. On
// one of Pebble's own goroutines that would end the process at once and without its order: there it keeps the goroutine,
// and the database has failed.
func (l logger) Fatalf(format string, args ...any) {
	err := fatal{message: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if cause, is := arg.(error); is {
			err.cause = cause
		}
	}
	l.out.Error("the database cannot go on", "error", err)
	l.onFatal(err)
	if isCalled() {
		panic(err)
	}
	select {}
}

// isCalled tells whether a method of [DB] that recovers is on the goroutine's stack.
func isCalled() bool {
	var callers [128]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers[:])])
	for {
		frame, more := frames.Next()
		for _, recovers := range []string{"(*DB).apply", "(*DB).flushMemory", "(*DB).openPebble"} {
			if strings.Contains(frame.Function, "/storage/kv."+recovers) {
				return true
			}
		}
		if !more {
			return false
		}
	}
}
