package rpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// files answers requests for bytes.
type files struct {
	errors *clientErrors
	report func(ctx context.Context, what string, err error) (incident string) // nil: nobody is told
}

// answer answers with content, with ranges, or with why there is none: 404 with a reason that clients may know.
func (f *files) answer(w http.ResponseWriter, r *http.Request, content []byte, err error) {
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
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// incident reports an error that no client may see, and returns what a client is told.
func (f *files) incident(ctx context.Context, what string, err error) string {
	if f.report == nil {
		return "internal error"
	}
	return "internal error, incident " + f.report(ctx, what, err)
}
