// Package logs bounds the log, whatever clients do: the lines of one kind in a minute, and the bytes of a value.
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
	// mostLines limits the lines with one message in a window. One line at the end of the window gives the number of
	// omitted lines.
	mostLines = 20
	window    = time.Minute
	// mostMessages limits the messages that are counted separately. All others share one count, because messages with
	// text from clients are unlimited in number.
	mostMessages = 1_000
	// mostBytes limits the length of a message, and of a value that is a text or an error.
	mostBytes = 4 << 10
)

// handler is the handler returned by [Bound].
type handler struct {
	next  slog.Handler
	lines *lines // shared by the handlers derived from one
}

// lines counts lines by their messages.
type lines struct {
	root  slog.Handler
	after func(time.Duration, func())

	mu     sync.Mutex
	counts map[string]*count
}

// count counts the lines of one message in a window that begins with the first one.
type count struct {
	level   slog.Level // highest level of the omitted lines
	written int
	more    int
}

// Bound returns a handler that passes on at most 20 lines of one message in a minute, and at the end of the minute a
// line with the number of omitted ones. It cuts long texts.
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

// admit counts a line and reports whether to write it.
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

// end ends the window of a message and logs the number of omitted lines.
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
	_ = l.root.Handle(context.Background(), r) // ignore the error, as slog does
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

// cut shortens a text to mostBytes and adds a note of its length.
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

// Of returns a logger for a server of net/http. Each of its lines, which contain a client's address and text, becomes
// an attribute of a debug entry with the given message.
func Of(to *slog.Logger, message string) *log.Logger { return log.New(&texts{to, message}, "", 0) }

// texts is the writer of the logger returned by Of.
type texts struct {
	to      *slog.Logger
	message string
}

// Write implements io.Writer.
func (t *texts) Write(text []byte) (int, error) {
	t.to.Debug(t.message, "error", strings.TrimSpace(string(text)))
	return len(text), nil
}
