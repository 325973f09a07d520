package rpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// files answers requests for bytes. They are read in the slots of calls, and held as the request's quota allows.
type files struct {
	errors *clientErrors
	report func(ctx context.Context, what string, err error) (incident string) // nil: nobody is told
	slots  *jsonrpc.Slots
}

// answer answers with what read gives, with ranges, or with why there is none. That is 404 with a reason that clients
// may know, or 503 if there is no time or no memory for it at present. It is held until it is sent, however slowly.
func (f *files) answer(w http.ResponseWriter, r *http.Request, read func() ([]byte, error)) {
	var content []byte
	var err error
	if f.slots.Run(r.Context(), func() { content, err = read() }) != nil {
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
	if quota := request.Quota(r.Context()); quota != nil && quota.Room(len(content)) < len(content) {
		f.busy(w)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
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
