// Package provers connects a node's queue of unproven blocks with the processes that prove them, over HTTP below
// /proving/ of the node's admin address. [Routes] is the node's side, [Worker] the prover's.
package provers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/server/admin"
)

// The paths of the queue's routes on the node's admin address.
const (
	nextPath = "/proving/next"
	spanPath = "/proving/block/"
)

// waitForTask bounds how long a request waits for a task.
const waitForTask = 20 * time.Second

// handler serves a queue.
type handler struct{ queue *proving.Queue }

// Routes returns the routes of a queue for provers. POST /proving/next answers with the next task, leased to the
// prover, or with 204 if none comes in time. PUT /proving/block/SPAN submits a proof; it answers 422 with the reason if
// the proof is invalid, and 409 if it is not wanted. DELETE returns the blocks to the queue, or with ?refuse=1 gives
// them up. SPAN is the number of a blockproof.Span, which for a single block is its height.
func Routes(q *proving.Queue) []admin.Route {
	h := handler{q}
	return []admin.Route{
		{Pattern: "POST " + nextPath, Serve: h.serveNext},
		{Pattern: "PUT " + spanPath + "{span}", Serve: h.serveProof},
		{Pattern: "DELETE " + spanPath + "{span}", Serve: h.serveReturn},
	}
}

func (h handler) serveNext(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), waitForTask)
	defer cancel()
	span, task, err := h.queue.Next(ctx)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			h.queue.Release(span)
		}
		w.WriteHeader(http.StatusNoContent)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(task)))
		if _, err := w.Write(task); err != nil {
			h.queue.Release(span) // the prover has gone
		}
	}
}

// maxProofBytes bounds a submitted proof. At the default gas limit a block touches at most 250,000 keys. With paths
// ground by 2^40 hashes they take 83 segments of 0.4 MB and as many other leaves: 50 MB.
const maxProofBytes = 64 << 20

// spanIn parses the span at the end of a path. If there is none, it answers the request and returns false.
func spanIn(w http.ResponseWriter, r *http.Request) (blockproof.Span, bool) {
	n, err := strconv.ParseUint(r.PathValue("span"), 10, 64)
	if span := blockproof.Span(n); err == nil && (span.Log() == 0 || span.Valid()) {
		return span, true
	}
	http.Error(w, "not a height, nor a span", http.StatusBadRequest)
	return 0, false
}

func (h handler) serveProof(w http.ResponseWriter, r *http.Request) {
	span, ok := spanIn(w, r)
	if !ok {
		return
	}
	proof, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxProofBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch err := h.queue.Accept(span, proof); {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, proving.ErrUnwanted):
		http.Error(w, err.Error(), http.StatusConflict)
	case errors.Is(err, blockproof.ErrProof):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (h handler) serveReturn(w http.ResponseWriter, r *http.Request) {
	span, ok := spanIn(w, r)
	if !ok {
		return
	}
	if r.URL.Query().Get("refuse") == "1" {
		h.queue.Refuse(span)
	} else {
		h.queue.Release(span)
	}
	w.WriteHeader(http.StatusNoContent)
}
