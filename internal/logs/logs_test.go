package logs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// testLog is a log whose windows end when the test decides.
func testLog() (log *slog.Logger, written *bytes.Buffer, endWindows func()) {
	written = new(bytes.Buffer)
	var ends []func()
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	h := bound(slog.NewTextHandler(written, options), func(_ time.Duration, f func()) { ends = append(ends, f) })
	return slog.New(h), written, func() {
		for _, end := range ends {
			end()
		}
		ends = nil
	}
}

func TestLinesAreBoundedByTime(t *testing.T) {
	log, written, endWindows := testLog()
	for i := range 10_000 {
		log.With("remote", i).Warn("a client did this", "n", i)
	}
	log.Error("another message")
	if got := strings.Count(written.String(), "a client did this"); got != mostLines {
		t.Errorf("%d lines of one message, want %d", got, mostLines)
	}
	if !strings.Contains(written.String(), "another message") {
		t.Error("a message pays for another one's lines")
	}
	written.Reset()
	endWindows()
	want := fmt.Sprintf(`level=WARN msg="lines were left out of the log" message="a client did this" count=%d`,
		10_000-mostLines)
	if got := written.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
		t.Errorf("at the end of the window:\n%s\nwant one line with %s", got, want)
	}
	written.Reset()
	log.Warn("a client did this")
	if got := written.String(); !strings.Contains(got, "a client did this") {
		t.Errorf("in the next window: %q, want the line", got)
	}
}

// Messages that contain text from clients cannot bypass the limit.
func TestMessagesAreBounded(t *testing.T) {
	log, written, endWindows := testLog()
	for i := range 10 * mostMessages {
		log.Debug(fmt.Sprint("message ", i))
	}
	endWindows()
	if got, most := strings.Count(written.String(), "\n"), mostMessages+mostLines+1; got > most {
		t.Errorf("%d lines, want at most %d", got, most)
	}
}

func TestTextsAreCutAndQuoted(t *testing.T) {
	log, written, _ := testLog()
	long := strings.Repeat("é", 1<<20)
	log.With("from", long).Warn("text", "error", errors.New(long), slog.Group("g", "value", long), "line", "a\nlevel=ERROR")
	if got, most := written.Len(), 4*mostBytes; got > most {
		t.Errorf("a line of %d bytes, want at most %d", got, most)
	}
	if got := written.String(); strings.Count(got, "… (2097152 bytes)") != 3 || strings.Count(got, "\n") != 1 {
		t.Errorf("%.200s…: want three texts that say how long they were, in one line", got)
	}
}

func TestTextsOfNetHTTPAreOneMessage(t *testing.T) {
	log, written, _ := testLog()
	texts := Of(log, "a connection failed")
	for i := range 1000 {
		texts.Printf("http: TLS handshake error from 10.0.0.1:%d: EOF", i)
	}
	if got := strings.Count(written.String(), "\n"); got != mostLines {
		t.Errorf("%d lines, want %d", got, mostLines)
	}
	if got := written.String(); !strings.Contains(got, `error="http: TLS handshake error from 10.0.0.1:0: EOF"`) {
		t.Errorf("%.200s: want the text as a value", got)
	}
}
