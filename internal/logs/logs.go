// Package logs keeps the log within bounds that no client moves: lines of one kind in a minute, and bytes of a value.
package logs

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// mostLines are the lines with one message that are written within a window. Then one line says how many more came.
	mostLines = 20
	window    = time.Minute
	// mostMessages are the messages that are counted apart. Those beyond share one count: messages that are made of what
	// others send may be any number.
	mostMessages = 1_000
	// mostBytes is the length of a message, and of a value that is a text or an error.
	mostBytes = 4 << 10
)

// handler is what [Bound] returns.
type handler struct {
	next  slog.Handler
	lines *lines // of all handlers that were made of one
}

// lines counts lines by their messages.
type lines struct {
	root  slog.Handler
	after func(time.Duration, func())

	mu     sync.Mutex
	counts map[string]*count
}

// count is of one message, from the first line of a window on.
type count struct {
	level   slog.Level // the highest of those that were left out
	written int
	more    int
}

// Bound returns a handler that hands on at most 20 lines of one message within a minute, and after it a line that says
// how many more there were. Long texts are cut.
func Bound(next slog.Handler) slog.Handler {
	return bound(next, func(d time.Duration, f func()) { time.AfterFunc(d, f) })
}

func bound(next slog.Handler, after func(time.Duration, func())) slog.Handler {
	return handler{next, &lines{root: next, after: after, counts: make(map[string]*count)}}
}

// Enabled implements [slog.Handler].
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.lines.admit(r) {
		return nil
	}
	short := slog.NewRecord(r.Time, r.Level, cut(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		short.AddAttrs(shorten(a))
		return true
	})
	return h.next.Handle(ctx, short)
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	short := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		short[i] = shorten(a)
	}
	return handler{h.next.WithAttrs(short), h.lines}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler { return handler{h.next.WithGroup(name), h.lines} }

// admit counts a line, and tells whether it is written.
func (l *lines) admit(r slog.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	message := r.Message
	c := l.counts[message]
	if c == nil {
		if len(l.counts) >= mostMessages {
			message = "other messages"
			c = l.counts[message]
		}
		if c == nil {
			c = new(count)
			l.counts[message] = c
			l.after(window, func() { l.end(message) })
		}
	}
	if c.written < mostLines {
		c.written++
		return true
	}
	if c.more++; c.more == 1 || r.Level > c.level {
		c.level = r.Level
	}
	return false
}

// end ends the window of a message, and says how many lines were left out.
func (l *lines) end(message string) {
	l.mu.Lock()
	c := l.counts[message]
	delete(l.counts, message)
	l.mu.Unlock()
	if c.more == 0 {
		return
	}
	r := slog.NewRecord(time.Now(), c.level, "lines were left out of the log", 0)
	r.AddAttrs(slog.String("message", cut(message)), slog.Int("count", c.more), slog.Duration("within", window))
	_ = l.root.Handle(context.Background(), r) // as slog does
}

// shorten cuts the texts of an attribute.
func shorten(a slog.Attr) slog.Attr {
	switch a.Value = a.Value.Resolve(); a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(cut(a.Value.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(a.Value.Group()))
		for i, member := range a.Value.Group() {
			group[i] = shorten(member)
		}
		a.Value = slog.GroupValue(group...)
	case slog.KindAny:
		if err, is := a.Value.Any().(error); is && err != nil {
			a.Value = slog.StringValue(cut(err.Error()))
		}
	}
	return a
}

// cut is a text of at most mostBytes, beside a note of how long it was.
func cut(text string) string {
	if len(text) <= mostBytes {
		return text
	}
	end := mostBytes
	for end > mostBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:end], len(text))
}

// Of is a logger for a server of net/http, whose lines have a client's address and text in them: they become the value
// of one message, at debug level.
func Of(to *slog.Logger, message string) *log.Logger { return log.New(&texts{to, message}, "", 0) }

// texts is where a [log.Logger] writes.
type texts struct {
	to      *slog.Logger
	message string
}

// Write implements io.Writer.
func (t *texts) Write(text []byte) (int, error) {
	t.to.Debug(t.message, "error", strings.TrimSpace(string(text)))
	return len(text), nil
}
