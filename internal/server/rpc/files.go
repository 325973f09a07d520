package rpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// files answers requests for bytes. They are read in turns of long work, and held as the request's quota allows.
type files struct {
	errors *clientErrors
	report func(ctx context.Context, what string, err error) (incident string) // nil: nobody is told
	lane   *admission.Lane
}

// in is files that are read in another lane.
func (f *files) in(lane *admission.Lane) *files { return &files{f.errors, f.report, lane} }

// errNoMemory: there is no memory for an answer at present.
var errNoMemory = errors.New("rpc: there is no memory for the answer at present")

// counter counts what an answer takes while it is made. It is told how many bytes that is so far, and its error is
// errNoMemory.
type counter func(bytes int) error

// answer answers with what read gives, with ranges, or with why there is none. That is 404 with a reason that clients
// may know, or 503 if there is no time or no memory for it at present. It is held until it is sent, however slowly.
// Whole files are compressed, in the turn in which they were read, as the client accepts it.
func (f *files) answer(w http.ResponseWriter, r *http.Request, read func(counter) ([]byte, error)) {
	count := counter(func(bytes int) error {
		if quota := request.Quota(r.Context()); quota != nil && quota.Room(bytes) < bytes {
			return errNoMemory
		}
		return nil
	})
	var content, shrunk []byte
	var coding string
	var err error
	ran := f.lane.Run(r.Context(), func() {
		if content, err = read(count); err == nil {
			err = count(len(content))
		}
		// With these the client is about the file as it is. A refusal of If-Match would also come with the coding.
		if err == nil && r.Header.Get("Range") == "" && r.Header.Get("If-Match") == "" {
			shrunk, coding = jsonrpc.Shrink(content, r.Header.Get("Accept-Encoding"))
		}
	})
	outOfTime := ran != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if outOfTime || errors.Is(err, errNoMemory) {
		if quota, is := request.Quota(r.Context()).(interface{ OutOfTime() }); is && outOfTime {
			quota.OutOfTime() // want of memory is counted already
		}
		f.busy(w)
		return
	}
	var why *jsonrpc.Error
	switch err = f.errors.public(err); {
	case errors.As(err, &why):
		http.Error(w, why.Message, http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, f.incident(r.Context(), r.Pattern, err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Vary", "Accept-Encoding")
	if coding != "" {
		content = shrunk
		setCoding(w.Header(), coding, len(content))
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// setCoding says that a file of so many bytes is compressed. What goes on with it later is of the same bytes: the ETag
// is another than that of the file as it is.
func setCoding(h http.Header, coding string, bytes int) {
	h.Set("Content-Encoding", coding)
	h.Set("Content-Length", strconv.Itoa(bytes)) // http.ServeContent leaves it out where there is a coding
	if etag := h.Get("ETag"); etag != "" {
		h.Set("ETag", strings.TrimSuffix(etag, `"`)+"-"+coding+`"`)
	}
}

func (f *files) busy(w http.ResponseWriter) {
	w.Header().Del("ETag")
	w.Header().Set("Retry-After", "5")
	const why = "The server is busy: it has no time or no memory for this answer at present."
	http.Error(w, why, http.StatusServiceUnavailable)
}

// incident reports an error that no client may see, and returns what a client is told.
func (f *files) incident(ctx context.Context, what string, err error) string {
	if f.report == nil {
		return "internal error"
	}
	return "internal error, incident " + f.report(ctx, what, err)
}
