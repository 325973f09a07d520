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

// files answers requests for bytes. They are read in turns of long work, a piece at a time, and no turn lasts while the
// client takes a piece.
type files struct {
	errors *clientErrors
	report func(ctx context.Context, what string, err error) (incident string) // nil: nobody is told
	lane   *admission.Lane
}

// in is files that are read in another lane.
func (f *files) in(lane *admission.Lane) *files { return &files{f.errors, f.report, lane} }

// pieceBytes is about how much of a file is read at a time, and held while the client takes it.
const pieceBytes = 256 << 10

// A file is what a client may download. Its length is known before any of it is read.
type file struct {
	tag   string // the ETag, in quotes; empty: there is none
	parts []part
	held  int  // bytes that the file takes until it is sent, beside a piece
	probe bool // it is there, and nobody asked how long it is
}

// A part of a file has items, which are read in pieces.
type part struct {
	size int64
	// read gives the bytes of items from one on, and the item that the next piece begins with.
	read func(item uint32) (piece []byte, next uint32, err error)
}

// wholeBytes is the part of a file that these bytes are.
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

// errNoMemory: there is no memory for an answer at present.
var errNoMemory = errors.New("rpc: there is no memory for the answer at present")

// counter counts what an answer takes while it is made. It is told how many bytes that is so far, and its error is
// errNoMemory.
type counter func(bytes int) error

// counterOf counts in the quota of a request.
func counterOf(ctx context.Context) counter {
	return func(bytes int) error {
		if quota := request.Quota(ctx); quota != nil && quota.Room(bytes) < bytes {
			return errNoMemory
		}
		return nil
	}
}

// answer answers with the file that open finds, with ranges, or with why there is none. That is 404 with a reason that
// clients may know, or 503 if there is no time or no memory for it at present. Whole files are compressed as the client
// accepts it. HEAD and conditions are answered by what open says: nothing of the file is read.
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
		r.Header.Del("Range") // as RFC 9110, 14.2 allows: each part of many could cost a piece
	}
	// With these the client is about the file as it is. A refusal of If-Match would also come with the coding.
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
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	default:
		for _, name := range []string{
			"Accept-Ranges", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "ETag",
		} {
			header.Del(name)
		}
		f.refuse(w, r, d.err)
	}
}

// setCoding says that a file is compressed. What goes on with it later is of the same bytes: the ETag is another than
// that of the file as it is.
func setCoding(h http.Header, coding string) {
	h.Set("Content-Encoding", coding)
	if etag := h.Get("ETag"); etag != "" {
		h.Set("ETag", strings.TrimSuffix(etag, `"`)+"-"+coding+`"`)
	}
}

// lateWriter holds a status back until there is something to write: before that, the answer may become a refusal.
type lateWriter struct {
	http.ResponseWriter
	status int // 0: none is held back
	begun  bool
}

// WriteHeader implements http.ResponseWriter.
func (w *lateWriter) WriteHeader(status int) { w.status = status }

// Write implements io.Writer.
func (w *lateWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// begin writes the status.
func (w *lateWriter) begin() {
	if !w.begun && w.status > 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.begun = true
}

// refuse answers why there is no file, or none at present.
func (f *files) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var why *jsonrpc.Error
	outOfTime := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	switch public := f.errors.public(err); {
	case errors.Is(err, errNoMemory), outOfTime:
		if quota, is := request.Quota(r.Context()).(interface{ OutOfTime() }); is && outOfTime {
			quota.OutOfTime() // want of memory is counted already
		}
		w.Header().Set("Retry-After", "5")
		const why = "The server is busy: it has no time or no memory for this answer at present."
		http.Error(w, why, http.StatusServiceUnavailable)
	case errors.As(public, &why):
		http.Error(w, why.Message, http.StatusNotFound)
	default:
		http.Error(w, f.incident(r.Context(), r.Pattern, public), http.StatusInternalServerError)
	}
}

// incident reports an error that no client may see, and returns what a client is told.
func (f *files) incident(ctx context.Context, what string, err error) string {
	if f.report == nil {
		return "internal error"
	}
	return "internal error, incident " + f.report(ctx, what, err)
}
