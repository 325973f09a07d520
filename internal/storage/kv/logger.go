package kv

import (
	"context"
	"fmt"
	"log/slog"
)

// logger is Pebble's log in ours.
type logger struct {
	slog *slog.Logger
}

// fatal is the panic of a fault after which Pebble cannot go on.
type fatal struct{ message string }

func (f fatal) Error() string { return f.message }

func (l logger) out() *slog.Logger {
	if l.slog == nil {
		return slog.Default()
	}
	return l.slog
}

// Infof logs routine news.
func (l logger) Infof(format string, args ...any) {
	if out := l.out(); out.Enabled(context.Background(), slog.LevelDebug) {
		out.Debug("database: " + fmt.Sprintf(format, args...))
	}
}

// Errorf logs a fault in the background, after which Pebble tries again.
func (l logger) Errorf(format string, args ...any) {
	l.out().Error("database: " + fmt.Sprintf(format, args...))
}

// Fatalf panics: Pebble relies on it not to return. In Pebble's own goroutines the process ends, and the next start
// recovers from the log; [DB.Commit] turns it into an error.
func (l logger) Fatalf(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	l.out().Error("database: fatal: " + message)
	panic(fatal{message})
}
