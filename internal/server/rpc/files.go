package rpc

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// files serves downloads. A file is read a piece at a time, in turns of long work, and no turn is held while the client
// reads a piece.
type files struct {
	errors *clientErrors
	report func(ctx context.Context, what string, err error) (incident string) // nil: nobody is informed
	lane   *admission.Lane
}

// in returns files that are read in another lane.
func (f *files) in(lane *admission.Lane) *files { return &files{f.errors, f.report, lane} }

// pieceBytes is the approximate size of the pieces in which a file is read; a piece is held while the client reads it.
const pieceBytes = 256 << 10

// pieceRoom is enough for most pieces: they end with a whole run of items.
const pieceRoom = pieceBytes + pieceBytes/8

// A file is a download. Its length is known before any of it is read.
type file struct {
	tag   string // the ETag, in quotes; empty for none
	parts []part
	held  int  // memory that the file holds until it is sent, besides a piece
	probe bool // the request only asks whether the file exists
}

// A part of a file consists of items, which are read in pieces.
type part struct {
	size int64
	// read returns the bytes of a piece that begins with item, and the first item of the next piece.
	read func(item uint32) (piece []byte, next uint32, err error)
}

// wholeBytes returns a part that consists of the given bytes.
func wholeBytes(b []byte) part {
	return part{int64(len(b)), func(item uint32) ([]byte, uint32, error) {
		from := min(int(item)*pieceBytes, len(b))
		return b[from:min(from+pieceBytes, len(b))], item + 1, nil
	}}
}

func (f *file) size() (size int64) {
	for _, p := range f.parts {
		size += p.size
	}
	return size
}

// errNoMemory is returned when there is no memory for an answer at present.
var errNoMemory = errors.New("rpc: there is no memory for the answer at present")

// counter is called with the bytes that an answer takes so far, while it is made. It returns errNoMemory if they are
// too many.
type counter func(bytes int) error

// counterOf returns a counter against the quota of a request.
func counterOf(ctx context.Context) counter {
	return func(bytes int) error {
		if quota := request.Quota(ctx); quota != nil && quota.Room(bytes) < bytes {
			return errNoMemory
		}
		return nil
	}
}

// answer serves the file that open returns, with ranges. If there is none, it answers 404 with the reason, 503 if there
// is no time or no memory at present, or 500 after an internal error. Whole files are compressed as the client accepts.
// HEAD and conditional requests are answered without reading the file.
func (f *files) answer(w http.ResponseWriter, r *http.Request, open func(counter) (*file, error)) {
	var opened *file
	var err error
	ran := f.lane.Run(r.Context(), func() { opened, err = open(counterOf(r.Context())) })
	if err = errors.Join(ran, err); err != nil {
		f.refuse(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Add("Vary", "Accept-Encoding")
	if opened.probe {
		w.WriteHeader(http.StatusOK)
		return
	}
	d := newDownload(f, r, opened)
	defer d.release()
	if opened.tag != "" {
		header.Set("ETag", opened.tag)
	}
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // as RFC 9110, 14.2 allows: each of many parts could cost a piece
	}
	// With these headers the client means the uncompressed file. A refusal of If-Match would also carry the coding.
	if r.Header.Get("Range") == "" && r.Header.Get("If-Match") == "" {
		if d.coding = jsonrpc.Coding(d.size, r.Header.Get("Accept-Encoding")); d.coding != "" {
			setCoding(header, d.coding)
		}
	}
	late := &lateWriter{ResponseWriter: w}
	http.ServeContent(late, r, "", time.Time{}, d)
	switch {
	case d.err == nil:
		late.begin()
	case late.begun:
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	default:
		for _, name := range []string{
			"Accept-Ranges", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "ETag",
		} {
			header.Del(name)
		}
		f.refuse(w, r, d.err)
	}
}

// setCoding marks a file as compressed, and gives it an ETag of its own: a later range request must not combine
// compressed with uncompressed bytes.
func setCoding(h http.Header, coding string) {
	h.Set("Content-Encoding", coding)
	if etag := h.Get("ETag"); etag != "" {
		h.Set("ETag", strings.TrimSuffix(etag, `"`)+"-"+coding+`"`)
	}
}

// lateWriter delays the status until the first write: until then the answer may still become a refusal.
type lateWriter struct {
	http.ResponseWriter
	status int // 0: no status is delayed
	begun  bool
}

// WriteHeader implements http.ResponseWriter.
func (w *lateWriter) WriteHeader(status int) { w.status = status }

// Write implements io.Writer.
func (w *lateWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// begin writes the delayed status.
func (w *lateWriter) begin() {
	if !w.begun && w.status > 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.begun = true
}

// refuse answers with the reason why there is no file, or none at present.
func (f *files) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var why *jsonrpc.Error
	outOfTime := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	switch public := f.errors.public(err); {
	case errors.Is(err, errNoMemory), outOfTime:
		if quota, is := request.Quota(r.Context()).(interface{ OutOfTime() }); is && outOfTime {
			quota.OutOfTime() // lack of memory is counted already
		}
		w.Header().Set("Retry-After", "5")
		const why = "The server is busy: it has no time or memory for this answer. Try again later."
		http.Error(w, why, http.StatusServiceUnavailable)
	case errors.As(public, &why):
		http.Error(w, why.Message, http.StatusNotFound)
	default:
		http.Error(w, f.incident(r.Context(), r.Pattern, public), http.StatusInternalServerError)
	}
}

// incident reports an internal error and returns the text for the client.
func (f *files) incident(ctx context.Context, what string, err error) string {
	if f.report == nil {
		return "internal error"
	}
	return "internal error, incident " + f.report(ctx, what, err)
}
