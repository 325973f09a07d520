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

// logger writes Pebble's log messages to ours.
type logger struct {
	out     *slog.Logger
	onFatal func(error)
	last    *atomic.Int64 // when Errorf last logged, in Unix nanoseconds
}

// fatal is a fault after which Pebble cannot continue, with Pebble's message. logger panics with it on goroutines that
// recover.
type fatal struct {
	message string
	cause   error // nil if there is none
}

func (f fatal) Error() string { return f.message }

func (f fatal) Unwrap() error { return f.cause }

// errorInterval is the least time between two logged errors: Pebble may retry hundreds of times per second.
const errorInterval = time.Second

// Infof logs a routine event.
func (l logger) Infof(format string, args ...any) {
	if l.out.Enabled(context.Background(), slog.LevelDebug) {
		l.out.Debug("database: " + fmt.Sprintf(format, args...))
	}
}

// Errorf logs a background fault that Pebble retries.
func (l logger) Errorf(format string, args ...any) {
	now, last := time.Now().UnixNano(), l.last.Load()
	if now-last >= int64(errorInterval) && l.last.CompareAndSwap(last, now) {
		l.out.Error("the database failed in the background", "error", fmt.Sprintf(format, args...))
	}
}

// Fatalf does not return, as Pebble requires. On goroutines where [DB] recovers, it panics, so that the call returns an
// error. On Pebble's own goroutines a panic would crash the process without an orderly shutdown. There Fatalf blocks
// the goroutine forever, and the database is marked as failed.
func (l logger) Fatalf(format string, args ...any) {
	err := fatal{message: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if cause, is := arg.(error); is {
			err.cause = cause
		}
	}
	l.out.Error("the database cannot continue", "error", err)
	l.onFatal(err)
	if isCalled() {
		panic(err)
	}
	select {}
}

// isCalled reports whether a method of [DB] that recovers is on the goroutine's stack.
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
